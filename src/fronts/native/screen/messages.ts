/** How a screen and what is above it are asked for, and what they show. */

import Type, { type TUnsafe } from "typebox";
import { limits } from "../../../protocol/messages.ts";
import type { ScreenMessage, ScreenQuery, ScrollbackMessage, ScrollbackQuery } from "../../../protocol/screens.ts";
import { closed, flag, milliseconds, offset, place, schemaOf, sessionState } from "../schemas.ts";

export const screenQuery: TUnsafe<ScreenQuery> = schemaOf<ScreenQuery>()(
	Type.Object(
		{
			format: Type.Optional(
				Type.Union([
					Type.Literal("json"),
					Type.Literal("text"),
					Type.Literal("ansi"),
					Type.Literal("html"),
					Type.Literal("svg"),
				]),
			),
			since: Type.Optional(offset),
			at: Type.Optional(place),
			wait: Type.Optional(milliseconds),
			text: Type.Optional(Type.String({ minLength: 1, maxLength: limits.patternLength })),
			regex: Type.Optional(flag),
			ignoreCase: Type.Optional(flag),
			stable: Type.Optional(Type.Integer({ minimum: 1, maximum: limits.maxWaitMs })),
			region: Type.Optional(
				Type.String({
					pattern: "^\\d{1,5}(-\\d{1,5})?$",
					description: "a row from zero on, or the first and the last",
				}),
			),
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
			met: Type.Optional(Type.Boolean()),
			state: sessionState,
		},
		{ title: "Screen" },
	),
);

export const scrollbackQuery: TUnsafe<ScrollbackQuery> = schemaOf<ScrollbackQuery>()(
	Type.Object(
		{
			skip: Type.Optional(offset),
			limit: Type.Optional(Type.Integer({ minimum: 1, maximum: limits.maxListed })),
			at: Type.Optional(place),
		},
		closed,
	),
);

export const scrollbackMessage: TUnsafe<ScrollbackMessage> = schemaOf<ScrollbackMessage>()(
	Type.Object({ offset, total: Type.Integer(), lines: Type.Array(Type.String()) }, { title: "Scrollback" }),
);
