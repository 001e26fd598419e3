#!/usr/bin/env node
/** The `hawser` command. It is small, so that it can say what is wrong when the rest can't be loaded. */

try {
	await import("./program.ts");
} catch (error) {
	if (!(error instanceof Error && "code" in error && error.code === "EMFILE")) throw error;
	process.stderr.write(
		"hawser: its parts can't be loaded: too many open files (raise the limit of open files: ulimit -n 65536)\n",
	);
	process.exitCode = 1;
}

export {};
