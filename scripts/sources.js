/** What something is made from: its files, and whether they have changed. */

import { createHash } from "node:crypto";
import { lstatSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** Contents and names, so that a change is noticed whatever it does to the times, and a deletion too. */
export function hashOf(files) {
	const hash = createHash("sha256");
	for (const file of files) {
		const content = readFileSync(file);
		hash.update(`${file}\0${content.length}\0`).update(content);
	}
	return hash.digest("hex");
}

/** Every file below a path, in a fixed order; a path that is not there has none. Links are files. */
export function filesIn(path) {
	const status = lstatSync(path, { throwIfNoEntry: false });
	if (!status) return [];
	if (!status.isDirectory()) return [path];
	return readdirSync(path)
		.sort()
		.flatMap((name) => filesIn(join(path, name)));
}
