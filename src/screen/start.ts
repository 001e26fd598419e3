/** Where the model of a session's screen begins, so that little has to be read. */

import { SessionError } from "../core/errors.ts";
import type { LogPlace, Mark, Size } from "../core/event.ts";
import type { Session } from "../core/session.ts";
import type { Checkpoints } from "./checkpoints.ts";

/** A checkpoint, or a place at which nothing is known of the screen. */
export type FeederStart = Mark & Size & { readonly time?: number; readonly snapshot?: Uint8Array };

/** For the screen of now, or of an earlier place. */
export async function startOf(session: Session, checkpoints: Checkpoints, place?: LogPlace): Promise<FeederStart> {
	const end = await session.end();
	const checkpoint = await checkpoints.nearest(place ?? { offset: end.offset }, end);
	return checkpoint ?? { seq: 1, offset: 0, ...(session.spec.firstSize ?? sizeOf(session)) };
}

/** Of its terminal, as far as it is known now. */
export function sizeOf({ id, spec, state }: Session): Size {
	if (spec.mode === "pty") return state.size;
	throw new SessionError("unsupported", `session ${JSON.stringify(id)} has no terminal, and so no screen`, {
		hint: "read its output",
	});
}
