/** Reads a record by pages, for whoever may. */

import type { AuditLine, AuditPage, AuditQuery } from "../core/audit.ts";
import { type LineFile, readLines } from "../disk/line-files.ts";
import { listFiles } from "./files.ts";
import { decodeLine } from "./line.ts";

/** What is read for one page at most, however few lines match; the next page goes on from there. */
const MAX_SCANNED_LINES = 50_000;

/** `head` is the newest line, as whoever writes knows it. */
export async function readPage(directory: string, query: AuditQuery, head: AuditPage["head"]): Promise<AuditPage> {
	const files = await listFiles(directory);
	const entries: AuditLine[] = [];
	let scanned = 0;
	let place = query.after;
	for (const file of await filesAfter(files, query.after)) {
		for await (const line of linesOf(file)) {
			if (line.seq <= query.after) continue;
			if (entries.length >= query.limit || scanned >= MAX_SCANNED_LINES) return { entries, next: place, head };
			scanned++;
			place = line.seq;
			if (matches(line, query)) entries.push(line);
		}
	}
	return { entries, next: null, head };
}

/** What is no line of ours is passed over: to find that is for whoever verifies. */
async function* linesOf({ path }: LineFile): AsyncGenerator<AuditLine, void, void> {
	try {
		for await (const { bytes, isWhole } of readLines(path)) {
			const line = isWhole ? decodeLine(bytes) : "";
			if (typeof line !== "string") yield line;
		}
	} catch (error) {
		// It was dropped meanwhile.
		if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
	}
}

/** From the one on that has the line after this number. */
async function filesAfter(files: readonly LineFile[], after: number): Promise<readonly LineFile[]> {
	for (let index = files.length - 1; index > 0; index--) {
		const file = files[index];
		if (!file) continue;
		for await (const { seq } of linesOf(file)) {
			if (seq <= after + 1) return files.slice(index);
			break;
		}
	}
	return files;
}

function matches(line: AuditLine, { session, principal, action }: AuditQuery): boolean {
	if (session !== undefined && line.session !== session) return false;
	if (principal !== undefined && line.by?.id !== principal) return false;
	return action === undefined || line.action === action;
}
