/** How a recording is asked for, and how one is taken in. */

import Type, { type TUnsafe } from "typebox";
import type { ActivityMessage, ActivityQuery, ImportQuery, RecordingQuery } from "../../../protocol/past.ts";
import { closed, displayName, id, milliseconds, nullable, place, schemaOf } from "../schemas.ts";

export const recordingQuery: TUnsafe<RecordingQuery> = schemaOf<RecordingQuery>()(
	Type.Object(
		{
			format: Type.Optional(Type.Union([Type.Literal("asciicast-v2"), Type.Literal("asciicast-v3")])),
			idleLimitMs: Type.Optional(Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER })),
			from: Type.Optional(place),
			to: Type.Optional(place),
		},
		closed,
	),
);

export const importQuery: TUnsafe<ImportQuery> = schemaOf<ImportQuery>()(
	Type.Object({ name: Type.Optional(displayName), workspace: Type.Optional(id) }, closed),
);

/** More parts than pixels that anybody draws them on. */
const MAX_BUCKETS = 2_000;

export const activityQuery: TUnsafe<ActivityQuery> = schemaOf<ActivityQuery>()(
	Type.Object(
		{
			from: Type.Optional(milliseconds),
			to: Type.Optional(milliseconds),
			buckets: Type.Optional(Type.Integer({ minimum: 1, maximum: MAX_BUCKETS })),
		},
		closed,
	),
);
export const activityMessage: TUnsafe<ActivityMessage> = schemaOf<ActivityMessage>()(
	Type.Object(
		{ from: milliseconds, to: milliseconds, bytes: Type.Array(Type.Integer()), until: nullable(milliseconds) },
		{ title: "Activity" },
	),
);
