/** How a screen is asked for, and what it shows. */

import Type, { type TUnsafe } from "typebox";
import type { ScreenMessage, ScreenQuery } from "../../protocol/messages.ts";
import { closed, offset, place, schemaOf } from "./schemas.ts";

export const screenQuery: TUnsafe<ScreenQuery> = schemaOf<ScreenQuery>()(
	Type.Object(
		{
			format: Type.Optional(Type.Union([Type.Literal("json"), Type.Literal("text"), Type.Literal("ansi")])),
			since: Type.Optional(offset),
			at: Type.Optional(place),
		},
		closed,
	),
);

export const screenMessage: TUnsafe<ScreenMessage> = schemaOf<ScreenMessage>()(
	Type.Object(
		{
			offset,
			revision: Type.Integer(),
			cols: Type.Integer(),
			rows: Type.Integer(),
			alternate: Type.Boolean(),
			cursor: Type.Object({ row: Type.Integer(), col: Type.Integer(), visible: Type.Boolean() }),
			title: Type.String(),
			lines: Type.Optional(Type.Array(Type.String())),
			changes: Type.Optional(Type.Array(Type.Object({ row: Type.Integer(), text: Type.String() }))),
			reset: Type.Optional(Type.Literal(true)),
		},
		{ title: "Screen" },
	),
);
