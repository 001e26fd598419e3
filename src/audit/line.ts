/**
 * A line of the record: JSON, whose last member is the hash of everything before it, of which the hash of the line
 * before is a part. It is checked by its bytes, so that there is one way to write each.
 */

import { createHash } from "node:crypto";
import type { AuditLine } from "../core/audit.ts";

/** Where a chain stands: its newest line. */
export type Link = { readonly seq: number; readonly hash: string };

/** Before the first line there is none. */
export const GENESIS: Link = { seq: 0, hash: "0".repeat(64) };

const HASH_NAME = ',"hash":"';
const HASH_MEMBER = /^,"hash":"([0-9a-f]{64})"\}$/;
const HASH_MEMBER_BYTES = HASH_NAME.length + 64 + 2;

/** The line that follows, with its line feed. */
export function encodeLine(content: object, prev: Link): { readonly text: string; readonly link: Link } {
	const seq = prev.seq + 1;
	const open = JSON.stringify({ seq, ...content, prev: prev.hash }).slice(0, -1);
	const hash = createHash("sha256").update(open).digest("hex");
	return { text: `${open}${HASH_NAME}${hash}"}\n`, link: { seq, hash } };
}

/** What a line says, without its line feed; or what is wrong with it. */
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

/** What is wrong with a line in the place after another. */
export function breakBetween(prev: Link, line: AuditLine): string | undefined {
	if (line.seq !== prev.seq + 1) return `it has number ${line.seq}, where ${prev.seq + 1} should follow`;
	if (line.prev !== prev.hash) return "it does not follow from the line before";
	return undefined;
}
