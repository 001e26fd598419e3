/** Parsers for command-line values; each names what it expects. */

import { InvalidArgumentError, Option } from "commander";
import { parseDuration, parseSize } from "../../words/units.ts";
import { UsageError } from "../print/errors.ts";

/** How long commands that follow a program wait for a restarting server. */
export const RECONNECT_TIMEOUT_MS = 60_000;

export function reconnectTimeoutOption(): Option {
	return new Option("--reconnect-timeout <duration>", "give up when the server has been unreachable for this long")
		.argParser(duration)
		.default(RECONNECT_TIMEOUT_MS, "1m");
}

export function sizePolicyOption(): Option {
	return new Option(
		"--size-policy <policy>",
		"which size the terminal gets: latest (last writer), smallest, fixed, or manual (hawser resize only)",
	).choices(["latest", "smallest", "fixed", "manual"]);
}

export function duration(text: string): number {
	return asArgument(() => parseDuration(text));
}

/** `2GiB`. */
export function bytes(text: string): number {
	return asArgument(() => parseSize(text));
}

function asArgument(parse: () => number): number {
	try {
		return parse();
	} catch (error) {
		throw new InvalidArgumentError(error instanceof Error ? error.message : String(error));
	}
}

export function wholeNumber(text: string): number {
	const value = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN;
	if (Number.isSafeInteger(value)) return value;
	throw new InvalidArgumentError("expected a non-negative integer");
}

/** For counts where zero makes no sense. */
export function positiveNumber(text: string): number {
	const value = /^\d{1,16}$/.test(text) ? wholeNumber(text) : 0;
	if (value > 0) return value;
	throw new InvalidArgumentError("expected a positive integer");
}

/** `120x40`. */
export function size(text: string): { cols: number; rows: number } {
	const [, cols, rows] = /^(\d{1,5})x(\d{1,5})$/i.exec(text) ?? [];
	if (Number(cols) > 0 && Number(rows) > 0) return { cols: Number(cols), rows: Number(rows) };
	throw new InvalidArgumentError("expected COLSxROWS, such as 120x40");
}

/** For options that may be given several times. */
export function collect(value: string, previous: readonly string[] = []): string[] {
	return [...previous, value];
}

/** Parses `K=V` arguments. */
export function pairs(texts: readonly string[], flag: string): Record<string, string> {
	return Object.fromEntries(
		texts.map((text) => {
			const split = text.indexOf("=");
			if (split > 0) return [text.slice(0, split), text.slice(split + 1)];
			throw new UsageError(`${flag}: expected K=V, got ${JSON.stringify(text)}`);
		}),
	);
}

/** Parses `K=V`, or `K` for the caller's own value. */
export function variables(pairs: readonly string[], env: NodeJS.ProcessEnv): Record<string, string | null> {
	return Object.fromEntries(
		pairs.map((pair) => {
			const split = pair.indexOf("=");
			if (split > 0) return [pair.slice(0, split), pair.slice(split + 1)];
			if (split === 0 || pair === "") throw new UsageError(`--env: expected K=V, got ${JSON.stringify(pair)}`);
			return [pair, env[pair] ?? null];
		}),
	);
}

/** Parses a position in a session's output. */
export function offsetOrTime(text: string): number | Date {
	if (/^\d{1,15}$/.test(text)) return Number(text);
	const moment = new Date(text);
	if (!Number.isNaN(moment.getTime())) return moment;
	throw new InvalidArgumentError("expected a byte offset or a time such as 2026-01-31T12:00:00Z");
}
