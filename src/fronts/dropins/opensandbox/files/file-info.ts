/** Information on a file. Links are not followed. The mode's octal digits are written as a decimal number. */

import type { BigIntStats } from "node:fs";
import { type BytePath, shown } from "./byte-path.ts";
import type { IdNames } from "./id-names.ts";

export type FileInfo = {
	readonly path: string;
	readonly type: "file" | "directory" | "symlink" | "other";
	readonly size: number;
	readonly modified_at: string;
	/** Time of the last inode change, as in the original. */
	readonly created_at: string;
	readonly owner: string;
	readonly group: string;
	readonly mode: number;
};

export function fileInfo(path: BytePath, stats: BigIntStats, names: IdNames): FileInfo {
	return {
		path: shown(path),
		type: typeOf(stats),
		size: Number(stats.size),
		modified_at: timeOf(stats.mtimeNs),
		created_at: timeOf(stats.ctimeNs),
		owner: names.userName(stats.uid),
		group: names.groupName(stats.gid),
		mode: Number((Number(stats.mode) & 0o777).toString(8)),
	};
}

function typeOf(stats: BigIntStats): FileInfo["type"] {
	if (stats.isFile()) return "file";
	if (stats.isDirectory()) return "directory";
	return stats.isSymbolicLink() ? "symlink" : "other";
}

const NS_PER_MS = 1_000_000n;
const NS_PER_SECOND = 1_000_000_000n;

/** RFC 3339 in the server's time zone, with the precision of the file system. */
function timeOf(ns: bigint): string {
	const fraction = ((ns % NS_PER_SECOND) + NS_PER_SECOND) % NS_PER_SECOND;
	const time = new Date(Number((ns - fraction) / NS_PER_MS));
	const minutes = -time.getTimezoneOffset();
	const local = new Date(time.getTime() + minutes * 60_000).toISOString().slice(0, "2026-01-01T00:00:00".length);
	const digits = String(fraction).padStart(9, "0").replace(/0+$/, "");
	return `${local}${digits === "" ? "" : `.${digits}`}${zoneOf(minutes)}`;
}

function zoneOf(minutes: number): string {
	if (minutes === 0) return "Z";
	const two = (value: number) => String(value).padStart(2, "0");
	const distance = Math.abs(minutes);
	return `${minutes < 0 ? "-" : "+"}${two(Math.floor(distance / 60))}:${two(distance % 60)}`;
}
