/** Parameters that both method families have, and their checks. */

import type { Size } from "../../../../words/state.ts";
import * as rpc from "../../../json-rpc/params.ts";
import { invalidParams } from "../errors.ts";
import type { FamilyText } from "./error-text.ts";

/**
 * @limit output of each stream, or as requested (`outputBytesCap`) | the rest is discarded; streamed, the last delta
 * says `capReached`
 */
export const DEFAULT_CAP_BYTES: number = 1024 * 1024;
/** @limit the time of a command, or as requested (`timeoutMs`) | it is killed, and its exit code is 124 */
export const DEFAULT_TIMEOUT_MS = 10_000;

export const flag: rpc.Decode<boolean> = rpc.unlessAbsent(rpc.boolean, false);
export const milliseconds: rpc.Decode<number> = rpc.integer("i64", -(2 ** 63), 2 ** 63);
export const byteCount: rpc.Decode<number> = rpc.integer("usize", 0, 2 ** 64);
export const changedEnvironment: rpc.Decode<Readonly<Record<string, string | null>>> = rpc.optional(
	rpc.map(rpc.optional(rpc.string, null)),
	{},
);

const u16 = rpc.integer("u16", 0, 65_535);
export const terminalSize: rpc.Decode<Size> = rpc.object({ rows: u16, cols: u16 });

/** A size of zero parses, but no terminal can have it. */
export function checkSize({ cols, rows }: Size, { emptySize }: FamilyText): void {
	if (cols === 0 || rows === 0) throw invalidParams(emptySize);
}
