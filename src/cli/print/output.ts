/** Prints data to stdout and notices to stderr. No other module prints. */

import { cellsOf, cut } from "../terminal/cell-width.ts";
import { safeLine } from "./safe-text.ts";

/** Exit code of a program killed by SIGPIPE. */
export const BROKEN_PIPE = 141;

/** Runs when the reader of stdout is gone, as with `| head`. */
let onOutputClosed = (): void => process.exit(BROKEN_PIPE);

/** Exits quietly when stdout is closed, and ignores a closed stderr. */
export function endOnClosedPipe(): void {
	process.stdout.on("error", (error: NodeJS.ErrnoException) => {
		if (error.code === "EPIPE") return onOutputClosed();
		printNotice(`can't write to stdout (${error.code})`);
		process.exit(1);
	});
	process.stderr.on("error", () => {});
}

/** Resolves when stdout is closed, instead of exiting: the session's program has to end first. */
export function outputClosed(): Promise<void> {
	return new Promise((resolve) => {
		onOutputClosed = resolve;
	});
}

/** Prints data. Resolves when it is written, so that a slow reader applies backpressure. */
export function print(data: string | Uint8Array): Promise<void> {
	return write(process.stdout, data);
}

/** Prints data to stderr: the program's own stderr, or data that must not mix with its stdout. */
export function printError(data: string | Uint8Array): Promise<void> {
	return write(process.stderr, data);
}

function write(stream: NodeJS.WriteStream, data: string | Uint8Array): Promise<void> {
	if (data.length === 0) return Promise.resolve();
	return new Promise((resolve) => {
		stream.write(data, () => resolve());
	});
}

/** Prints a message for the user. */
export function printNotice(message: string): void {
	process.stderr.write(`hawser: ${safeLine(message)}\n`);
}

/** Prints one "name value" line per row; null values are left out. */
export function keyValueList(rows: readonly (readonly [name: string, value: string | null])[]): string {
	const said = rows.flatMap(([name, value]) =>
		value === null ? [] : [`${`${name}:`.padEnd(14)}${safeLine(value)}\n`],
	);
	return said.join("");
}

/** Rows under a heading, cut to the terminal's width. A pipe gets full rows. */
export function table(heading: readonly string[], rows: readonly (readonly string[])[], width?: number): string {
	const lines = [heading, ...rows].map((row) => row.map(safeLine));
	const widths = heading.map((_, column) => Math.max(...lines.map((line) => cellsOf(line[column] ?? ""))));
	return lines.map((line) => `${truncateTo(padded(line, widths), width)}\n`).join("");
}

function padded(line: readonly string[], widths: readonly number[]): string {
	const cells = line.map((cell, column) => cell + " ".repeat((widths[column] ?? 0) - cellsOf(cell)));
	return cells.join("  ").trimEnd();
}

function truncateTo(line: string, width: number | undefined): string {
	return width ? cut(line, width) : line;
}
