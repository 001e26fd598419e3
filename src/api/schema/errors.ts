/** The body of an error. */

import { codes } from "../../words/error-code.ts";
import { agent } from "./agent.ts";
import * as s from "./fields.ts";

export const errorCode: s.Schema = s.named(
	"ErrorCode",
	"The kind of an error. Later versions may add codes; a client treats unknown ones as `internal`.",
	s.literals(...codes),
);

export const errorMessage: s.Schema = s.message(
	"ErrorMessage",
	"The body of every answer that is not a success.",
	{
		error: s.object({
			code: errorCode,
			message: s.text,
			hint: s.optional(s.text),
			retryAfterMs: s.optional(s.doc("When the same request may succeed, if a rate limit refused it.", s.count)),
			agent: s.optional(s.doc("With `blocked`: the agent, and the dialog that is open.", agent)),
			isTemporary: s.doc("Set together with `retryAfterMs`: the request did nothing and may be repeated.", s.yes),
		}),
	},
	{ examples: [{ error: { code: "session_not_found", message: 'there is no session "k3v9x0q2m4abt7w1dz"' } }] },
);
