#!/usr/bin/env node
/** The `hawser` command. It is small, so that it can report that the rest failed to load. */

try {
	await import("./program.ts");
} catch (error) {
	if (!(error instanceof Error && "code" in error && error.code === "EMFILE")) throw error;
	process.stderr.write("hawser: can't load: too many open files; raise the limit with ulimit -n 65536\n");
	process.exitCode = 1;
}

export {};
