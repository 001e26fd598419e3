/** Parses a position in a log: an offset or a time. */

import { SessionError } from "../../core/errors.ts";
import type { OffsetOrTime } from "../../core/log/event.ts";

export function parsePosition(name: string, text: string | undefined): OffsetOrTime | undefined {
	if (text === undefined) return undefined;
	if (/^\d+$/.test(text)) return { offset: Number(text) };
	const time = Date.parse(text);
	if (!Number.isNaN(time)) return { time };
	throw new SessionError("invalid_argument", `${name}: must be an offset, or a time such as 2026-01-31T12:00:00Z`);
}
