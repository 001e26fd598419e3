/** The body of an error. */

import { codes } from "../../words/error-code.ts";
import { agent } from "./agent.ts";
import { count, doc, literals, message, named, object, optional, type Schema, text, yes } from "./fields.ts";

export const errorCode: Schema = named(
	"ErrorCode",
	"The kind of an error. Later versions may add codes; a client treats unknown ones as `internal`.",
	literals(...codes),
);

export const errorMessage: Schema = message(
	"ErrorMessage",
	"The body of every answer that is not a success.",
	{
		error: object({
			code: errorCode,
			message: text,
			hint: optional(text),
			retryAfterMs: optional(doc("When the same request may succeed, if a rate limit refused it.", count)),
			agent: optional(doc("With `blocked`: the agent, and the dialog that is open.", agent)),
			isTemporary: doc("Set together with `retryAfterMs`: the request did nothing and may be repeated.", yes),
		}),
	},
	{ examples: [{ error: { code: "session_not_found", message: 'there is no session "k3v9x0q2m4abt7w1dz"' } }] },
);
