/** What is said of one session beside its terminal: what is missing, who types, what awaits a yes. */

import { type AttachmentEvent, callerName, type SessionMessage } from "hawser/client";
import { exactSpan, size } from "./words.ts";

/** What happened, and more about it. */
export type Sentence = readonly string[];

/** What was set in powers of two is told so: `64 MiB`. */
function limitText(bytes: number): string {
	const units = ["bytes", "KiB", "MiB", "GiB"];
	const power = Math.min(units.length - 1, Math.floor(Math.log2(Math.max(1, bytes)) / 10));
	return `${Number((bytes / 1024 ** power).toPrecision(3))} ${units[power]}`;
}

export type Gap = Pick<Extract<AttachmentEvent, { kind: "gap" }>, "from" | "to" | "reason">;

export function gapText({ from, to, reason }: Gap, { retain }: Pick<SessionMessage, "retain">): string {
	const missing = `${size(to - from)} are missing here.`;
	// One that is not durable has no journal.
	const keptBytes = Math.max(retain.journalBytes, retain.memoryBytes);
	if (reason === "retention") return `${missing} This session keeps its last ${limitText(keptBytes)}.`;
	if (reason === "live") return `${missing} This page was too slow for them; scroll up to load them.`;
	return `${missing} They were damaged on disk or never written.`;
}

export function backText(afterMs: number, missedBytes: number): string {
	const missed = missedBytes === 0 ? "Nothing was missed." : `${size(missedBytes)} were missed.`;
	return `Back after ${exactSpan(afterMs)}. ${missed}`;
}

export function tookOverText(holder: string | null, agoMs: number, refusedKeys: number): string {
	const when = `${callerName(holder)} took over ${exactSpan(agoMs)} ago.`;
	if (refusedKeys === 0) return when;
	return `${when} ${refusedKeys} ${refusedKeys === 1 ? "key" : "keys"} you typed after that were not sent.`;
}

export function pasteText(lines: number): Sentence {
	return [
		`Paste ${lines} lines?`,
		"The program did not ask for pasted text in one piece, so each line may run by itself.",
	];
}

export function clipboardText(name: string, text: string): Sentence {
	const count = [...text].length;
	return ["", `${name} wants to put ${count} ${count === 1 ? "character" : "characters"} on your clipboard.`];
}
