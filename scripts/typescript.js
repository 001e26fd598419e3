/** Compiles TypeScript if its sources have changed, and removes stale output. */

import {
	chmodSync,
	existsSync,
	mkdirSync,
	readFileSync,
	renameSync,
	rmSync,
	symlinkSync,
	writeFileSync,
} from "node:fs";
import { dirname, join, relative } from "node:path";
import { run, say } from "./run.js";
import { filesIn, hashOf } from "./sources.js";

const COMPILER = "node_modules/typescript/bin/tsc";
const STAMP = ".hawser-built";

/**
 * Compiles a project. `root` is the folder whose layout the output repeats; `sources` are all inputs of the project;
 * `executables` are output files that are started by name; `links` are symbolic links to create in the output; `others`
 * are folders of the output that other build steps fill.
 */
export function compile({ project, root, sources, output, executables = [], links = {}, others = [] }) {
	const files = sources.flatMap(filesIn);
	const results = resultsOf(files, root);
	const hash = hashOf([...files, "tsconfig.json", project, "node_modules/typescript/package.json"]);
	const stamp = join(output, STAMP);
	const isComplete = [...results].every((name) => name.endsWith(".d.ts") || existsSync(join(output, name)));
	if (isComplete && existsSync(stamp) && readFileSync(stamp, "utf8") === hash) return;

	say(`compiling ${sources.join(", ")} to ${output}`);
	// Compiled next to the old files and moved over them one by one: a program that starts meanwhile never finds half a file.
	const fresh = join(output, `.hawser-fresh-${process.pid}`);
	try {
		run(process.execPath, [COMPILER, "-p", project, "--outDir", fresh, "--noEmitOnError"]);
		for (const name of executables) chmodSync(join(fresh, name), 0o755);
		rmSync(stamp, { force: true });
		for (const file of filesIn(fresh)) move(file, join(output, relative(fresh, file)));
	} finally {
		rmSync(fresh, { recursive: true, force: true });
	}
	for (const file of filesIn(output)) {
		const name = relative(output, file);
		const isKept = name in links || name.startsWith(".hawser-") || others.some((other) => name.startsWith(`${other}/`));
		if (!results.has(name) && !isKept) rmSync(file, { force: true });
	}
	for (const [name, target] of Object.entries(links)) {
		if (!existsSync(join(output, name))) symlinkSync(target, join(output, name));
	}
	writeFileSync(stamp, hash);
}

function move(from, to) {
	mkdirSync(dirname(to), { recursive: true });
	renameSync(from, to);
}

/** The output files of these sources. Other files in the output are stale. */
function resultsOf(files, root) {
	return new Set(
		files.flatMap((file) => {
			const [, name] = /^(.*)(?<!\.d)\.ts$/.exec(relative(root, file)) ?? [];
			return name === undefined ? [] : [`${name}.js`, `${name}.d.ts`];
		}),
	);
}
