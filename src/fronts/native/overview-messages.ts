/** How a session looks in a list, and the schema that describes it. */

import Type, { type TUnsafe } from "typebox";
import type { Overview, Waiting } from "../../protocol/messages.ts";
import { milliseconds, nullable, offset, schemaOf } from "./schemas.ts";

const waiting: TUnsafe<Waiting> = schemaOf<Waiting>()(
	Type.Object(
		{
			kind: Type.Union([
				Type.Literal("line"),
				Type.Literal("secret"),
				Type.Literal("key"),
				Type.Literal("tui"),
				Type.Literal("prompt"),
			]),
			prompt: Type.String(),
			choices: Type.Optional(Type.Array(Type.String())),
			since: milliseconds,
			offset,
			episode: offset,
			program: nullable(Type.String()),
		},
		{ title: "Waiting" },
	),
);

export const overview: TUnsafe<Overview> = schemaOf<Overview>()(
	Type.Object(
		{
			lastLine: nullable(Type.String()),
			lastOutputAt: nullable(milliseconds),
			activity: Type.Array(Type.Integer()),
			usualIntervalMs: nullable(milliseconds),
			watchers: Type.Integer(),
			approvals: Type.Integer(),
			waiting: Type.Optional(nullable(waiting)),
		},
		{ title: "Overview" },
	),
);
