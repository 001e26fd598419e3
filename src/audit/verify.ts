/** Verifies a record: every line is in its place, and none was changed, added or removed. */

import type { AuditLine } from "../core/policy/audit.ts";
import { type LineFile, readLines } from "../disk/line-files.ts";
import { breakBetween, type ChainHead, decodeLine, GENESIS } from "./chained-line.ts";

/** `line` is undefined for a problem of the whole record. */
type Fault = { readonly path: string; readonly line: number | undefined; readonly message: string };

export type Verification = {
	/** The first problem. Later lines prove nothing. */
	readonly fault: Fault | undefined;
	readonly entries: number;
	/** The line before the first one here. It was dropped or is in another file. */
	readonly base: ChainHead | undefined;
	readonly head: ChainHead;
	/** Notes about an intact record: lines that were lost, repaired, or are being written. */
	readonly remarks: readonly string[];
};

type VerifyOptions = {
	/** Not all files are given, so the first need not begin the record. */
	readonly isPart?: boolean;
	/**
	 * A hash noted when it was the newest. Its line must be here, with all lines before it. Lines are dropped only after an
	 * entry about that. Lines dropped before the noted one are confirmed by entries up to it. Those dropped later are
	 * confirmed only by an entry that anyone who can remove files could have added, so they can't be checked.
	 */
	readonly head?: string | undefined;
};

export async function verify(files: readonly LineFile[], options: VerifyOptions = {}): Promise<Verification> {
	let head: ChainHead = GENESIS;
	let base: ChainHead | undefined;
	const noted = options.head === GENESIS.hash ? undefined : options.head;
	/** Whether the noted line is still to come. Lines before it can't have been invented since. */
	let isNotedAhead = noted !== undefined;
	let isBaseExplained = options.isPart === true;
	let isBaseProven = isBaseExplained || noted === undefined;
	let entries = 0;
	const remarks: string[] = [];
	const result = (fault?: Fault): Verification => ({ fault, entries, base, head, remarks });

	for (const [index, { path }] of files.entries()) {
		let number = 0;
		for await (const { bytes, isWhole } of readLines(path)) {
			number++;
			const fault = (message: string) => result({ path, line: number, message });
			if (!isWhole) {
				if (index < files.length - 1) return fault("it is incomplete");
				remarks.push("the last line is incomplete: it is being written, or the next server will repair it");
				break;
			}
			const line = decodeLine(bytes);
			if (typeof line === "string") return fault(line);
			if (entries === 0) {
				head = { seq: line.seq - 1, hash: line.prev };
				if (head.seq !== GENESIS.seq) base = head;
				else if (head.hash !== GENESIS.hash) return fault("it is the first line, but continues another one");
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
		return result({ ...whole, line: undefined, message: "there are no entries to verify" });
	}
	if (base && !isBaseExplained) {
		return result({
			...whole,
			message: `${base.seq} lines before it are missing, and no later entry says that they were dropped`,
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
				`entries before the first one could not be checked: ${base.seq} entries are missing, ` +
				"and only an entry after the noted one says that they were dropped",
		});
	}
	return result();
}

const remarkable: ReadonlySet<string> = new Set(["gap", "repaired", "broken", "dropped"]);

function remarkOn(line: AuditLine): string {
	const when = `${line.seq} (${new Date(line.time).toISOString()})`;
	switch (line.action) {
		case "gap":
			return `${when}: ${line.lost} entries were lost because the disk could not be written`;
		case "repaired":
			return `${when}: an incomplete line of ${line.bytes} bytes was removed`;
		case "dropped":
			return `${when}: the lines up to ${line.to} were dropped to make room`;
		default:
			return `${when}: the server found the record damaged: ${line.message}`;
	}
}
