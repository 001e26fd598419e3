/** How something is typed and waited for in one call, and what is told of it. */

import Type, { type TUnsafe } from "typebox";
import type { SendAnswer, SendInput } from "../../protocol/acts.ts";
import { limits } from "../../protocol/messages.ts";
import { takeover } from "./act-messages.ts";
import { closed, exit, milliseconds, nullable, offset, schemaOf } from "./schemas.ts";
import { programState } from "./state-messages.ts";

export const sendInput: TUnsafe<SendInput> = schemaOf<SendInput>()(
	Type.Object(
		{
			text: Type.Optional(Type.String()),
			paste: Type.Optional(Type.Boolean()),
			keys: Type.Optional(
				Type.Array(Type.String({ minLength: 1, maxLength: limits.keyLength }), { maxItems: limits.keys }),
			),
			until: Type.Optional(
				Type.Object(
					{
						match: Type.Optional(Type.String({ minLength: 1, maxLength: limits.patternLength })),
						regex: Type.Optional(Type.Boolean()),
						ignoreCase: Type.Optional(Type.Boolean()),
						idleMs: Type.Optional(Type.Integer({ minimum: 1, maximum: limits.maxWaitMs })),
						stableMs: Type.Optional(Type.Integer({ minimum: 1, maximum: limits.maxWaitMs })),
						input: Type.Optional(Type.Boolean()),
						end: Type.Optional(Type.Boolean()),
					},
					closed,
				),
			),
			timeoutMs: Type.Optional(milliseconds),
			limit: Type.Optional(Type.Integer({ minimum: limits.minTextBytes, maximum: limits.maxTextBytes })),
		},
		{
			...closed,
			title: "SendInput",
			examples: [{ text: "y", keys: ["Enter"], until: { match: "done", idleMs: 2_000 } }],
		},
	),
);

export const sendAnswer: TUnsafe<SendAnswer> = schemaOf<SendAnswer>()(
	Type.Object(
		{
			cause: Type.Union([
				Type.Literal("match"),
				Type.Literal("idle"),
				Type.Literal("stable"),
				Type.Literal("input"),
				Type.Literal("end"),
				Type.Literal("exit"),
				Type.Literal("timeout"),
			]),
			output: Type.Object({ from: offset, to: offset }),
			text: Type.String(),
			omitted: nullable(Type.Object({ from: offset, to: offset })),
			state: programState,
			exit: nullable(exit),
			next: offset,
			takeovers: Type.Array(takeover),
			fence: offset,
		},
		{ title: "SendAnswer" },
	),
);
