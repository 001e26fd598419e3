/** Data on stdout, remarks on stderr; the only place that prints. */

import { safeLine } from "./safe-text.ts";

/** What a tool killed by SIGPIPE ends with. */
const BROKEN_PIPE = 141;

/** Ends quietly when whoever read our output has seen enough, as `head` does. A remark that can't be read is none. */
export function endOnClosedPipe(): void {
	process.stdout.on("error", (error: NodeJS.ErrnoException) => {
		if (error.code !== "EPIPE") throw error;
		process.exit(BROKEN_PIPE);
	});
	process.stderr.on("error", () => {});
}

/** Data; resolves when it is gone, so that a slow reader slows us down. */
export function print(data: string | Uint8Array): Promise<void> {
	return new Promise((resolve) => {
		process.stdout.write(data, () => resolve());
	});
}

/** A sentence for the user, never part of the data. */
export function remark(sentence: string): void {
	process.stderr.write(`hawser: ${safeLine(sentence)}\n`);
}

/** Rows under a heading, cut to the terminal's width; a pipe gets everything. */
export function table(heading: readonly string[], rows: readonly (readonly string[])[], width?: number): string {
	const lines = [heading, ...rows].map((row) => row.map(safeLine));
	const widths = heading.map((_, column) => Math.max(...lines.map((line) => lengthOf(line[column] ?? ""))));
	return lines.map((line) => `${cut(padded(line, widths), width)}\n`).join("");
}

function padded(line: readonly string[], widths: readonly number[]): string {
	const cells = line.map((cell, column) => cell + " ".repeat((widths[column] ?? 0) - lengthOf(cell)));
	return cells.join("  ").trimEnd();
}

function cut(line: string, width: number | undefined): string {
	if (width === undefined || lengthOf(line) <= width) return line;
	return `${[...line].slice(0, Math.max(0, width - 1)).join("")}…`;
}

function lengthOf(text: string): number {
	return [...text].length;
}
