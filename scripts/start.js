#!/usr/bin/env node
/**
 * `npm start`: sets up, then becomes the server.
 *
 * In one process, because a shell between npm and the server would not pass signals on. Further
 * arguments are the server's: `npm start -- --port 8000`.
 */

import { setUp } from "./setup.js";

try {
	await setUp("start");
	process.argv.splice(2, 0, "serve");
	await import("../dist/cli/main.js");
} catch (error) {
	console.error(error instanceof Error ? error.message : String(error));
	process.exitCode = 1;
}
