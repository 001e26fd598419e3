/** Reads pages of the audit. */

import type { AuditLine, AuditPage, AuditQuery } from "../core/policy/audit.ts";
import { type LineFile, readLines } from "../disk/line-files.ts";
import { listFiles } from "./audit-files.ts";
import { decodeLine } from "./chained-line.ts";

/** Lines read per page, however few match. The next page continues there. */
const MAX_SCANNED_LINES = 50_000;

/** `head` is the newest line, as known by the writer. */
export async function readPage(directory: string, query: AuditQuery, head: AuditPage["head"]): Promise<AuditPage> {
	const files = await listFiles(directory);
	const entries: AuditLine[] = [];
	let scanned = 0;
	let position = query.after;
	for (const file of await filesAfter(files, query.after)) {
		for await (const line of linesOf(file)) {
			if (line.seq <= query.after) continue;
			if (entries.length >= query.limit || scanned >= MAX_SCANNED_LINES) return { entries, next: position, head };
			scanned++;
			position = line.seq;
			if (matches(line, query)) entries.push(line);
		}
	}
	return { entries, next: null, head };
}

/** Skips invalid lines; `verify` reports them. */
async function* linesOf({ path }: LineFile): AsyncGenerator<AuditLine, void, void> {
	try {
		for await (const { bytes, isWhole } of readLines(path)) {
			const line = isWhole ? decodeLine(bytes) : "";
			if (typeof line !== "string") yield line;
		}
	} catch (error) {
		// The file was dropped meanwhile.
		if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
	}
}

/** Files from the one on that contains the line after this number. */
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
