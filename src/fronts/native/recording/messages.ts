/** How a recording is asked for. */

import Type, { type TUnsafe } from "typebox";
import type { RecordingQuery } from "../../../protocol/messages.ts";
import { closed, schemaOf } from "../schemas.ts";

const recordingPlace = Type.String({
	pattern: "^(\\d{1,15}|\\d{4}-\\d\\d-\\d\\d[0-9T:.Z+-]{0,30})$",
	description: "an offset, or a time such as 2026-01-31T12:00:00Z",
});

export const recordingQuery: TUnsafe<RecordingQuery> = schemaOf<RecordingQuery>()(
	Type.Object(
		{
			format: Type.Optional(Type.Union([Type.Literal("asciicast-v2"), Type.Literal("asciicast-v3")])),
			idleLimitMs: Type.Optional(Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER })),
			from: Type.Optional(recordingPlace),
			to: Type.Optional(recordingPlace),
		},
		closed,
	),
);
