/** Data on stdout, remarks on stderr; the only place that prints. */

import { cellsOf, cut } from "./cells.ts";
import { safeLine } from "./safe-text.ts";

/** What a tool killed by SIGPIPE ends with. */
export const BROKEN_PIPE = 141;

/** What to do when whoever read our output has seen enough, as `head` does. */
let onUnread = (): void => process.exit(BROKEN_PIPE);

/** Ends quietly when nobody reads our output any more. A remark that can't be read is none. */
export function endOnClosedPipe(): void {
	process.stdout.on("error", (error: NodeJS.ErrnoException) => {
		if (error.code === "EPIPE") return onUnread();
		remark(`what was to be printed can't be written (${error.code})`);
		process.exit(1);
	});
	process.stderr.on("error", () => {});
}

/** Resolves when nobody reads our output any more, instead of ending us: somebody else has to end first. */
export function unread(): Promise<void> {
	return new Promise((resolve) => {
		onUnread = resolve;
	});
}

/** Data; resolves when it is gone, so that a slow reader slows us down. */
export function print(data: string | Uint8Array): Promise<void> {
	return write(process.stdout, data);
}

/** Data that belongs on stderr: what a program wrote there, or what must keep out of its stdout. */
export function printError(data: string | Uint8Array): Promise<void> {
	return write(process.stderr, data);
}

function write(stream: NodeJS.WriteStream, data: string | Uint8Array): Promise<void> {
	if (data.length === 0) return Promise.resolve();
	return new Promise((resolve) => {
		stream.write(data, () => resolve());
	});
}

/** A sentence for the user, never part of the data. */
export function remark(sentence: string): void {
	process.stderr.write(`hawser: ${safeLine(sentence)}\n`);
}

/** What there is to say of one thing, a line each; what is null is left out. */
export function facts(rows: readonly (readonly [name: string, value: string | null])[]): string {
	const said = rows.flatMap(([name, value]) =>
		value === null ? [] : [`${`${name}:`.padEnd(14)}${safeLine(value)}\n`],
	);
	return said.join("");
}

/** Rows under a heading, cut to the terminal's width; a pipe gets everything. */
export function table(heading: readonly string[], rows: readonly (readonly string[])[], width?: number): string {
	const lines = [heading, ...rows].map((row) => row.map(safeLine));
	const widths = heading.map((_, column) => Math.max(...lines.map((line) => cellsOf(line[column] ?? ""))));
	return lines.map((line) => `${within(padded(line, widths), width)}\n`).join("");
}

function padded(line: readonly string[], widths: readonly number[]): string {
	const cells = line.map((cell, column) => cell + " ".repeat((widths[column] ?? 0) - cellsOf(cell)));
	return cells.join("  ").trimEnd();
}

function within(line: string, width: number | undefined): string {
	return width ? cut(line, width) : line;
}
