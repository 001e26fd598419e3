/** How output is asked for, and what an event stream of it says. */

import Type, { type TSchema, type TUnsafe } from "typebox";
import type { OutputEvent } from "../../protocol/past.ts";
import { closed, exit, flag, milliseconds, offset, schemaOf, size } from "./schemas.ts";

/** How long a text may be is `max`, which is also what `limit` was called before. */
export type OutputQuery = {
	since?: number;
	limit?: number;
	as?: "text";
	max?: number;
	redact?: "0" | "1";
	wait?: number;
};
export const outputQuery: TUnsafe<OutputQuery> = schemaOf<OutputQuery>()(
	Type.Object(
		{
			since: Type.Optional(offset),
			limit: Type.Optional(Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER })),
			as: Type.Optional(Type.Literal("text")),
			max: Type.Optional(Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER })),
			redact: Type.Optional(flag),
			wait: Type.Optional(milliseconds),
		},
		closed,
	),
);

const gap = Type.Object(
	{
		from: offset,
		to: offset,
		reason: Type.Union([Type.Literal("retention"), Type.Literal("live"), Type.Literal("journal")]),
	},
	{ title: "GapEvent" },
);

const outputEvent: TUnsafe<OutputEvent> = schemaOf<OutputEvent>()(
	Type.Object(
		{
			offset,
			stream: Type.Union([Type.Literal("stdout"), Type.Literal("stderr"), Type.Literal("pty")]),
			data: Type.String({ contentEncoding: "base64" }),
		},
		{ title: "OutputEvent" },
	),
);

/** What an event stream of output has as `data:`, by its `event:`. */
export const outputEventSchemas: Readonly<Record<string, TSchema>> = {
	output: outputEvent,
	gap,
	resized: Type.Object({ offset, cols: size, rows: size }, { title: "ResizedEvent" }),
	exited: Type.Object({ offset, exit }, { title: "ExitedEvent" }),
	closed: Type.Object({ offset }, { title: "ClosedEvent" }),
	lost: Type.Object({ offset, message: Type.String() }, { title: "LostEvent" }),
};
