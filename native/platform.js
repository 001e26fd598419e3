// The addon build for this machine and its path, for the build script and the loader.

import { closeSync, openSync, readSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** Linkers put the name of a program's loader within these bytes. */
const HEAD_BYTES = 4096;

/** An addon needs the same C library as the Node that loads it. Alpine has musl. */
function isMusl() {
	if (process.platform !== "linux") return false;
	const program = openSync(process.execPath, "r");
	try {
		const head = Buffer.alloc(HEAD_BYTES);
		readSync(program, head, 0, HEAD_BYTES, 0);
		return head.includes("/ld-musl-");
	} finally {
		closeSync(program);
	}
}

/** For example linux-x64, or linux-arm64-musl. */
export const platform = `${process.platform}-${process.arch}${isMusl() ? "-musl" : ""}`;

/** The build folder of a platform. */
export function buildFolder(name = platform) {
	return join(fileURLToPath(new URL("build", import.meta.url)), name);
}
