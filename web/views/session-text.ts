/** Messages about one session next to its terminal: gaps, control, confirmations. */

import { type AttachmentEvent, callerName, type SessionMessage } from "hawser/client";
import { formatLongDuration, size } from "./text.ts";

/** A headline, and details. */
export type Message = readonly string[];

/** Limits are powers of two, so use binary units: `64 MiB`. */
function limitText(bytes: number): string {
	const units = ["bytes", "KiB", "MiB", "GiB"];
	const power = Math.min(units.length - 1, Math.floor(Math.log2(Math.max(1, bytes)) / 10));
	return `${Number((bytes / 1024 ** power).toPrecision(3))} ${units[power]}`;
}

export type Gap = Pick<Extract<AttachmentEvent, { kind: "gap" }>, "from" | "to" | "reason">;

export function gapText({ from, to, reason }: Gap, { retain }: Pick<SessionMessage, "retain">): string {
	const missing = size(to - from);
	// A session that is not durable has no journal.
	const keptBytes = Math.max(retain.journalBytes, retain.memoryBytes);
	if (reason === "retention") return `${missing} missing: this session keeps only the last ${limitText(keptBytes)}.`;
	if (reason === "live") return `${missing} skipped because this page was too slow; scroll up to load them.`;
	return `${missing} lost: damaged on disk or never written.`;
}

export function reconnectedText(afterMs: number, missedBytes: number): string {
	const missed = missedBytes === 0 ? "Nothing missed." : `${size(missedBytes)} missed.`;
	return `Reconnected after ${formatLongDuration(afterMs)}. ${missed}`;
}

export function takenOverText(holder: string | null, agoMs: number, refusedKeys: number): string {
	const when = `${callerName(holder)} took control ${formatLongDuration(agoMs)} ago.`;
	if (refusedKeys === 0) return when;
	return `${when} ${refusedKeys} ${refusedKeys === 1 ? "key was" : "keys were"} not sent.`;
}

export function pasteText(lines: number): Message {
	return [`Paste ${lines} lines?`, "The program does not support bracketed paste; each line may run separately."];
}

export function clipboardText(name: string, text: string): Message {
	const count = [...text].length;
	return ["", `${name} wants to write ${count} ${count === 1 ? "character" : "characters"} to your clipboard.`];
}
