/**
 * Attributes that programs inherit from the process that started the server: its umask and soft limit for open files,
 * as a login shell has them. Otherwise both would be lost: a keeper restricts its own files, and Node raises its limit
 * to the hard one before any of our code runs, which breaks programs that use select().
 */

import { readFileSync, readlinkSync } from "node:fs";
import type { Inherited } from "../core/process/process.ts";
import { findProcess } from "./process-table.ts";

/** The default of Linux and service managers. select() can't handle more. */
const usualOpenFiles = 1024;

/** Called once, when the server starts. */
export function readInherited(): Inherited {
	return { umask: process.umask(), openFiles: softOpenFiles() };
}

/**
 * Node has already raised our own soft limit. So this takes that of the nearest ancestor that is not Node, if it has
 * the same hard limit. Otherwise 1024, or the hard limit if that is lower.
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
		// The process belongs to another user, or is gone.
		return false;
	}
}

/** The limits for open files of a process; undefined if they can't be read. */
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
