/**
 * The program inside each session of a chaos run: records on disk every byte that it writes and reads.
 *
 * It writes numbered lines of varying length to its output and reads its input until a line `END`,
 * then exits with code 7. Output is recorded before it is written: the record of a witness that is
 * killed may be longer than its output, never shorter.
 */

import { appendFileSync, write } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";

const [directory = ".", seedText = "1", bytesPerSecondText = "100000"] = process.argv.slice(2);
const bytesPerSecond = Number(bytesPerSecondText);
const writeOutput = promisify(write);

let state = Number(seedText) >>> 0;
function random(below) {
	state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
	return Math.floor((state / 2 ** 32) * below);
}

let isOver = false;
let tail = "";
process.stdin.on("data", (bytes) => {
	appendFileSync(join(directory, "read"), bytes);
	tail = (tail + bytes.toString("latin1")).slice(-5);
	if (tail === "\nEND\n") isOver = true;
});
process.stdin.on("end", () => {
	isOver = true;
});

const startedAt = performance.now();
let written = 0;
for (let line = 0; !isOver; ) {
	let text = "";
	for (let lines = 1 + random(40); lines > 0; lines--) text += `${line++} ${"·".repeat(random(60))}\n`;
	const bytes = Buffer.from(text);
	appendFileSync(join(directory, "wrote"), bytes);
	for (let done = 0; done < bytes.length; ) done += (await writeOutput(1, bytes, done)).bytesWritten;
	written += bytes.length;
	const aheadMs = (written / bytesPerSecond) * 1000 - (performance.now() - startedAt);
	// Bursts with pauses between them: both the full and the empty pipe are worth a fault.
	if (aheadMs > 0) await new Promise((resolve) => setTimeout(resolve, Math.min(aheadMs, 200)));
}
process.exit(7);
