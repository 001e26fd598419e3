/** Detects changes of source files. */

import { createHash } from "node:crypto";
import { lstatSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** A hash of names and contents, so that it does not depend on file times and notices deletions. */
export function hashOf(files) {
	const hash = createHash("sha256");
	for (const file of files) {
		const content = readFileSync(file);
		hash.update(`${file}\0${content.length}\0`).update(content);
	}
	return hash.digest("hex");
}

/** Every file below a path, in a fixed order; empty for a missing path. Links count as files. */
export function filesIn(path) {
	const status = lstatSync(path, { throwIfNoEntry: false });
	if (!status) return [];
	if (!status.isDirectory()) return [path];
	return readdirSync(path)
		.sort()
		.flatMap((name) => filesIn(join(path, name)));
}
