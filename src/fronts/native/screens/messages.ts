/** What a stream of screens says, and the schemas that describe it. */

import Type, { type TSchema, type TUnsafe } from "typebox";
import { limits } from "../../../protocol/messages.ts";
import type {
	ScreenRunMessage,
	ScreenStyleMessage,
	ScreensBegin,
	ScreensError,
	ScreenUpdate,
	ShowScreens,
} from "../../../protocol/screens.ts";
import { closed, offset, schemaOf, sessionState, size } from "../schemas.ts";

const ids = Type.Array(Type.String({ maxLength: 64 }), { maxItems: limits.tiles });

export type ScreensQuery = { session?: string[] };
export const screensQuery: TUnsafe<ScreensQuery> = schemaOf<ScreensQuery>()(
	Type.Object({ session: Type.Optional(ids) }, closed),
);

export const showScreens: TUnsafe<ShowScreens> = schemaOf<ShowScreens>()(
	Type.Object({ sessions: ids }, { ...closed, title: "ShowScreens" }),
);

export type StreamParams = { stream: string };
export const streamParams: TUnsafe<StreamParams> = schemaOf<StreamParams>()(Type.Object({ stream: Type.String() }));

const color = Type.Union([Type.Integer(), Type.String()]);
const yes = Type.Optional(Type.Literal(true));
const style: TUnsafe<ScreenStyleMessage> = schemaOf<ScreenStyleMessage>()(
	Type.Object(
		{
			fg: Type.Optional(color),
			bg: Type.Optional(color),
			bold: yes,
			dim: yes,
			italic: yes,
			underline: Type.Optional(
				Type.Union([Type.Literal(1), Type.Literal(2), Type.Literal(3), Type.Literal(4), Type.Literal(5)]),
			),
			blink: yes,
			inverse: yes,
			invisible: yes,
			strikethrough: yes,
			overline: yes,
		},
		{ title: "ScreenStyle" },
	),
);
const run: TUnsafe<ScreenRunMessage> = schemaOf<ScreenRunMessage>()(
	Type.Object({ text: Type.String(), cols: Type.Integer(), style: Type.Optional(style) }, { title: "ScreenRun" }),
);

const update: TUnsafe<ScreenUpdate> = schemaOf<ScreenUpdate>()(
	Type.Object(
		{
			session: Type.String(),
			offset,
			revision: Type.Integer(),
			cols: size,
			rows: size,
			alternate: Type.Boolean(),
			cursor: Type.Object({ row: Type.Integer(), col: Type.Integer(), visible: Type.Boolean() }),
			title: Type.String(),
			state: sessionState,
			reset: yes,
			changes: Type.Array(Type.Object({ row: Type.Integer(), runs: Type.Array(run) })),
		},
		{ title: "ScreenUpdate" },
	),
);
const begin: TUnsafe<ScreensBegin> = schemaOf<ScreensBegin>()(
	Type.Object({ stream: Type.String(), most: Type.Integer() }, { title: "ScreensBegin" }),
);
const failed: TUnsafe<ScreensError> = Type.Unsafe<ScreensError>(
	Type.Object({ session: Type.String(), code: Type.String(), message: Type.String() }, { title: "ScreensError" }),
);

export const screenEventSchemas: Readonly<Record<string, TSchema>> = { begin, screen: update, error: failed };
