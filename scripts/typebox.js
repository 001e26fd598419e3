/**
 * Bundles TypeBox into dist, where compiled code finds it before the installed one, if that has changed. It has hundreds
 * of small files, and loading them takes a third of the server's start.
 */

import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join, posix } from "node:path";
import { say } from "./run.js";

const INSTALLED = "node_modules/typebox";
const OUTPUT = "dist/node_modules/typebox";

export async function bundleTypebox() {
	const { name, version, exports } = read(INSTALLED);
	if (existsSync(join(OUTPUT, "package.json")) && read(OUTPUT).version === version) return;

	say(`bundling ${name} to ${OUTPUT}`);
	// Imported late, since the set-up installs it.
	const { rolldown } = await import("rolldown");
	// One output file per exported part, because the parts share code.
	const parts = Object.keys(exports).map((part) => ({ part, file: `${posix.join(name, part)}.js` }));
	const bundle = await rolldown({
		input: Object.fromEntries(parts.map(({ part, file }) => [file, posix.join(name, part)])),
		platform: "node",
	});
	const fresh = `${OUTPUT}-fresh-${process.pid}`;
	try {
		await bundle.write({ dir: fresh, entryFileNames: "[name]" });
		const description = {
			name,
			version,
			type: "module",
			exports: Object.fromEntries(parts.map(({ part, file }) => [part, `./${file}`])),
		};
		writeFileSync(join(fresh, "package.json"), JSON.stringify(description));
		rmSync(OUTPUT, { recursive: true, force: true });
		renameSync(fresh, OUTPUT);
	} finally {
		rmSync(fresh, { recursive: true, force: true });
	}
}

function read(folder) {
	return JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
}
