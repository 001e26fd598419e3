// Which build of the addon this machine runs, and where it is: shared by what builds it and what loads it.

import { closeSync, openSync, readSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** Where every linker puts the name of the loader that starts a program. */
const HEAD_BYTES = 4096;

/** An addon is tied to the C library of the Node that loads it; musl is what Alpine has. */
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

/** For instance linux-x64, or linux-arm64-musl. */
export const platform = `${process.platform}-${process.arch}${isMusl() ? "-musl" : ""}`;

/** The folder of one platform's build. */
export function buildFolder(name = platform) {
	return join(fileURLToPath(new URL("build", import.meta.url)), name);
}
