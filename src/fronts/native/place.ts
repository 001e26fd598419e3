/** Where in a log something is asked for. */

import { SessionError } from "../../core/errors.ts";
import type { LogPlace } from "../../core/event.ts";

export function toPlace(name: string, text: string | undefined): LogPlace | undefined {
	if (text === undefined) return undefined;
	if (/^\d+$/.test(text)) return { offset: Number(text) };
	const time = Date.parse(text);
	if (!Number.isNaN(time)) return { time };
	throw new SessionError("invalid_argument", `${name}: must be an offset, or a time such as 2026-01-31T12:00:00Z`);
}
