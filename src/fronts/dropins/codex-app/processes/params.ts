/** Parameters common to both method families, and their checks. */

import type { Size } from "../../../../words/state.ts";
import {
	boolean,
	type Decode,
	integer,
	map,
	object,
	optional,
	string,
	unlessAbsent,
} from "../../../json-rpc/params.ts";
import { invalidParams } from "../errors.ts";
import type { FamilyText } from "./error-text.ts";
import type { AppProcess } from "./process.ts";

/**
 * @limit output of each stream, or as requested (`outputBytesCap`) | the rest is discarded; streamed, the last delta
 * says `capReached`
 */
export const DEFAULT_CAP_BYTES: number = 1024 * 1024;
/** @limit the time of a command, or as requested (`timeoutMs`) | it is killed, and its exit code is 124 */
export const DEFAULT_TIMEOUT_MS = 10_000;

export const flag: Decode<boolean> = unlessAbsent(boolean, false);
export const milliseconds: Decode<number> = integer("i64", -(2 ** 63), 2 ** 63);
export const byteCount: Decode<number> = integer("usize", 0, 2 ** 64);
export const changedEnvironment: Decode<Readonly<Record<string, string | null>>> = optional(
	map(optional(string, null)),
	{},
);

const u16 = integer("u16", 0, 65_535);
export const terminalSize: Decode<Size> = object({ rows: u16, cols: u16 });

/** A size of zero parses, but no terminal can have it. */
export function checkSize({ cols, rows }: Size, { emptySize }: FamilyText): void {
	if (cols === 0 || rows === 0) throw invalidParams(emptySize);
}

export type Write = { readonly deltaBase64: string | null; readonly closeStdin: boolean };

export const write: { readonly [Name in keyof Write]: Decode<Write[Name]> } = {
	deltaBase64: optional(string, null),
	closeStdin: flag,
};

/** Looks up the process only after the other checks. */
export async function writeTo(
	find: () => AppProcess,
	{ deltaBase64, closeStdin }: Write,
	{ emptyWrite }: FamilyText,
	pass: () => void,
): Promise<object> {
	if (deltaBase64 === null && !closeStdin) throw invalidParams(emptyWrite);
	const bytes = deltaBase64 === null ? null : fromBase64(deltaBase64);
	const queued = find().write(bytes, closeStdin);
	// The input is queued in order; the next request need not wait for room.
	pass();
	await queued;
	return {};
}

/** Looks up the process only after the other checks. */
export async function resizeTo(
	find: () => AppProcess,
	size: Size,
	wording: FamilyText,
	pass: () => void,
): Promise<object> {
	checkSize(size, wording);
	const resized = find().resize(size);
	pass();
	await resized;
	return {};
}

/** Standard alphabet with padding. Node would accept anything else too. */
function fromBase64(text: string): Buffer {
	const decoded = Buffer.from(text, "base64");
	if (decoded.toString("base64") === text) return decoded;
	throw invalidParams(`invalid deltaBase64: ${fault(text)}`);
}

/** The error text of Codex's server. */
function fault(text: string): string {
	const body = text.replace(/={0,2}$/, "");
	const foreign = text.search(/[^+/0-9A-Za-z=]/);
	const offset = foreign >= 0 ? foreign : body.indexOf("=");
	if (offset >= 0) return `Invalid symbol ${text.charCodeAt(offset)}, offset ${offset}.`;
	if (body.length % 4 === 1) return `Invalid input length: ${body.length}`;
	if (text.length % 4 !== 0) return "Invalid padding";
	const last = body.length - 1;
	return `Invalid last symbol ${body.charCodeAt(last)}, offset ${last}.`;
}
