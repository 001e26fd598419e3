/** Compiles TypeScript when, and only when, what it is made from has changed, and leaves nothing stale behind. */

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
 * Compiles a project. `root` is the folder whose layout the output repeats, `sources` everything the
 * project is made from, `executables` the results that are started by name, `links` the symbolic
 * links to make in the output, and `others` the folders in it that somebody else fills.
 */
export function compile({ project, root, sources, output, executables = [], links = {}, others = [] }) {
	const files = sources.flatMap(filesIn);
	const results = resultsOf(files, root);
	const hash = hashOf([...files, "tsconfig.json", project, "node_modules/typescript/package.json"]);
	const stamp = join(output, STAMP);
	const isComplete = [...results].every((name) => name.endsWith(".d.ts") || existsSync(join(output, name)));
	if (isComplete && existsSync(stamp) && readFileSync(stamp, "utf8") === hash) return;

	say(`compiling ${sources.join(", ")} to ${output}`);
	// Beside the old results, and moved over them file by file: a program that starts meanwhile finds no half of one.
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

/** What the compiler makes of these files: anything else in the output is of a source that is gone. */
function resultsOf(files, root) {
	return new Set(
		files.flatMap((file) => {
			const [, name] = /^(.*)(?<!\.d)\.ts$/.exec(relative(root, file)) ?? [];
			return name === undefined ? [] : [`${name}.js`, `${name}.d.ts`];
		}),
	);
}
