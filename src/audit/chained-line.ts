/**
 * A line of the audit: JSON whose last member is the hash of everything before it, which includes the hash of the
 * previous line. The bytes are hashed, so each line has exactly one form.
 */

import { createHash } from "node:crypto";
import type { AuditLine } from "../core/policy/audit.ts";

/** The newest line of a chain. */
export type ChainHead = { readonly seq: number; readonly hash: string };

/** The value before the first line. */
export const GENESIS: ChainHead = { seq: 0, hash: "0".repeat(64) };

const HASH_NAME = ',"hash":"';
const HASH_MEMBER = /^,"hash":"([0-9a-f]{64})"\}$/;
const HASH_MEMBER_BYTES = HASH_NAME.length + 64 + 2;

/** Encodes the next line, with its line feed. */
export function encodeLine(content: object, prev: ChainHead): { readonly text: string; readonly link: ChainHead } {
	const seq = prev.seq + 1;
	const open = JSON.stringify({ seq, ...content, prev: prev.hash }).slice(0, -1);
	const hash = createHash("sha256").update(open).digest("hex");
	return { text: `${open}${HASH_NAME}${hash}"}\n`, link: { seq, hash } };
}

/** Decodes a line without its line feed, or says what is wrong with it. */
export function decodeLine(line: Buffer): AuditLine | string {
	const split = Math.max(0, line.byteLength - HASH_MEMBER_BYTES);
	const [, hash] = HASH_MEMBER.exec(line.toString("latin1", split)) ?? [];
	if (hash === undefined) return "it does not end in a hash";
	if (createHash("sha256").update(line.subarray(0, split)).digest("hex") !== hash) return "its hash does not match";
	try {
		return JSON.parse(line.toString()) as AuditLine;
	} catch {
		return "it is not JSON";
	}
}

/** The error if `line` does not continue `prev`; undefined if it does. */
export function breakBetween(prev: ChainHead, line: AuditLine): string | undefined {
	if (line.seq !== prev.seq + 1) return `it has number ${line.seq} instead of ${prev.seq + 1}`;
	if (line.prev !== prev.hash) return "it does not follow from the line before";
	return undefined;
}
