/** Asks somebody at this terminal for something that is not shown while it is typed. */

import { createInterface } from "node:readline/promises";
import { Writable } from "node:stream";

export async function askHidden(question: string): Promise<string> {
	const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
	const lines = createInterface({ input: process.stdin, output: nowhere, terminal: true });
	lines.on("SIGINT", () => process.exit(130));
	// Only now, when the terminal does not echo any more.
	process.stderr.write(question);
	try {
		return await lines.question("");
	} finally {
		lines.close();
		process.stderr.write("\n");
	}
}
