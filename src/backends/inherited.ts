/**
 * What programs take over from whoever started the server: its umask and its soft limit for open files, as a login
 * shell of that user has them. Both are lost on the way otherwise: a keeper closes its own files to others, and Node
 * raises its own limit to the hard one before any of our code runs, which breaks programs that use select().
 */

import { readFileSync, readlinkSync } from "node:fs";
import type { Inherited } from "../core/process.ts";
import { findProcess } from "./processes.ts";

/** What Linux and service managers give when nobody says otherwise; select() can't handle more. */
const usualOpenFiles = 1024;

/** For a server at its start. */
export function readInherited(): Inherited {
	return { umask: process.umask(), openFiles: softOpenFiles() };
}

/**
 * What our soft limit was cannot be seen in us any more, but in the nearest ancestor that is not Node itself, if we
 * have the same hard limit as that. It is 1024 where nobody tells, and never more than the hard limit.
 */
function softOpenFiles(): number {
	const own = openFilesOf("self");
	let ancestor = findProcess(process.ppid);
	while (ancestor !== undefined && isNode(ancestor.pid)) ancestor = findProcess(ancestor.parent);
	const theirs = ancestor && openFilesOf(ancestor.pid);
	if (own !== undefined && theirs?.hard === own.hard) return theirs.soft;
	return Math.min(usualOpenFiles, own?.hard ?? usualOpenFiles);
}

function isNode(pid: number): boolean {
	try {
		return readlinkSync(`/proc/${pid}/exe`) === process.execPath;
	} catch {
		// Another user's, or gone.
		return false;
	}
}

/** What a process may have open; undefined if that can't be found out. */
export function openFilesOf(pid: number | "self"): { readonly soft: number; readonly hard: number } | undefined {
	try {
		const [, soft, hard] =
			/^Max open files +(\d+|unlimited) +(\d+|unlimited)/m.exec(readFileSync(`/proc/${pid}/limits`, "latin1")) ?? [];
		return soft === undefined || hard === undefined ? undefined : { soft: toNumber(soft), hard: toNumber(hard) };
	} catch {
		return undefined;
	}
}

function toNumber(limit: string): number {
	return limit === "unlimited" ? Number.MAX_SAFE_INTEGER : Number(limit);
}
