/** Whether a record is as it was written: every line where it was, and none changed, added or taken away. */

import type { AuditLine } from "../core/audit.ts";
import { type LineFile, readLines } from "../disk/line-files.ts";
import { breakBetween, decodeLine, GENESIS, type Link } from "./line.ts";

/** `line` is undefined for what is wrong with the whole. */
export type Fault = { readonly path: string; readonly line: number | undefined; readonly message: string };

export type Verdict = {
	/** The first thing that is wrong; what comes after it proves nothing. */
	readonly fault: Fault | undefined;
	readonly entries: number;
	/** The line before the first one that is here, which was dropped, or is in another file. */
	readonly base: Link | undefined;
	readonly head: Link;
	/** What an operator should know of a record that is whole: lines that were lost, repaired, or are being written. */
	readonly remarks: readonly string[];
};

type VerifyOptions = {
	/** These are not all files there are, so that the first need not be the first of all. */
	readonly isPart?: boolean;
	/**
	 * A hash that was the newest once: the line that has it must be here, with everything before it. Lines are dropped
	 * only after one that says so, so that what was dropped by then is told up to that line; what was dropped since is
	 * told after it, by a line that anybody could have added who can remove files, and so can't be checked.
	 */
	readonly head?: string | undefined;
};

export async function verify(files: readonly LineFile[], options: VerifyOptions = {}): Promise<Verdict> {
	let head: Link = GENESIS;
	let base: Link | undefined;
	const noted = options.head === GENESIS.hash ? undefined : options.head;
	/** Whether the line that was noted is still to come. Nobody can have made up since what stands before it. */
	let isNotedAhead = noted !== undefined;
	let isBaseExplained = options.isPart === true;
	let isBaseProven = isBaseExplained || noted === undefined;
	let entries = 0;
	const remarks: string[] = [];
	const result = (fault?: Fault): Verdict => ({ fault, entries, base, head, remarks });

	for (const [index, { path }] of files.entries()) {
		let number = 0;
		for await (const { bytes, isWhole } of readLines(path)) {
			number++;
			const fault = (message: string) => result({ path, line: number, message });
			if (!isWhole) {
				if (index < files.length - 1) return fault("it is not whole");
				remarks.push("the last line is not whole: it is being written, or the next server will repair it");
				break;
			}
			const line = decodeLine(bytes);
			if (typeof line === "string") return fault(line);
			if (entries === 0) {
				head = { seq: line.seq - 1, hash: line.prev };
				if (head.seq !== GENESIS.seq) base = head;
				else if (head.hash !== GENESIS.hash) return fault("it is the first, but follows from another");
			}
			const broken = breakBetween(head, line);
			if (broken !== undefined) return fault(broken);
			head = { seq: line.seq, hash: line.hash };
			entries++;
			if (base && line.action === "dropped" && line.to === base.seq && line.last === base.hash) {
				isBaseExplained = true;
				isBaseProven ||= isNotedAhead;
			}
			if (line.hash === noted) isNotedAhead = false;
			if (remarkable.has(line.action)) remarks.push(remarkOn(line));
		}
	}
	const whole = { path: files[0]?.path ?? "", line: 1 };
	if (entries === 0) {
		return result({ ...whole, line: undefined, message: "there is no entry in it, and so nothing to verify" });
	}
	if (base && !isBaseExplained) {
		return result({
			...whole,
			message: `${base.seq} lines before it are missing, and no later one says that they were dropped`,
		});
	}
	if (isNotedAhead) {
		const where = base ? `; it may have been among the ${base.seq} that were dropped` : "";
		return result({ ...whole, line: entries, message: `no line has the hash ${options.head}${where}` });
	}
	if (base && !isBaseProven) {
		return result({
			...whole,
			message:
				`what was before could not be checked: ${base.seq} entries are not here, ` +
				"and that they were dropped is said only after the line that was noted",
		});
	}
	return result();
}

const remarkable: ReadonlySet<string> = new Set(["gap", "repaired", "broken", "dropped"]);

function remarkOn(line: AuditLine): string {
	const when = `${line.seq} (${new Date(line.time).toISOString()})`;
	switch (line.action) {
		case "gap":
			return `${when}: ${line.lost} entries were lost, for want of a disk that took them`;
		case "repaired":
			return `${when}: a line of ${line.bytes} bytes that was not written to its end was taken away`;
		case "dropped":
			return `${when}: the lines up to ${line.to} were dropped to make room`;
		default:
			return `${when}: the server found the record broken: ${line.message}`;
	}
}
