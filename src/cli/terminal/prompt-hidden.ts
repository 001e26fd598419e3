/** Prompts for input without echo. */

import { createInterface } from "node:readline/promises";
import { Writable } from "node:stream";

export async function promptHidden(question: string): Promise<string> {
	const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
	const lines = createInterface({ input: process.stdin, output: nowhere, terminal: true });
	lines.on("SIGINT", () => process.exit(130));
	// Print the prompt only now, after echo is off.
	process.stderr.write(question);
	try {
		return await lines.question("");
	} finally {
		lines.close();
		process.stderr.write("\n");
	}
}
