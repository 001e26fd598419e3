/** Arguments as people type them, to values; what makes no sense is refused by name. */

import { InvalidArgumentError, Option } from "commander";
import { parseDuration, parseSize } from "../protocol/units.ts";
import { UsageError } from "./errors.ts";

/** How long a restarting server may be away from somebody who follows a program. */
export const PATIENCE_MS = 60_000;

export function patience(): Option {
	return new Option("--patience <duration>", "how long the server may be away before we give up")
		.argParser(duration)
		.default(PATIENCE_MS, "1m");
}

export function sizePolicyOption(): Option {
	return new Option(
		"--size-policy <policy>",
		"whose size the terminal has: of whoever used it latest, the smallest of all, a fixed one, or only as resize says",
	).choices(["latest", "smallest", "fixed", "manual"]);
}

export function duration(text: string): number {
	return understood(() => parseDuration(text));
}

/** `2GiB`. */
export function bytes(text: string): number {
	return understood(() => parseSize(text));
}

function understood(parse: () => number): number {
	try {
		return parse();
	} catch (error) {
		throw new InvalidArgumentError(error instanceof Error ? error.message : String(error));
	}
}

export function wholeNumber(text: string): number {
	const value = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN;
	if (Number.isSafeInteger(value)) return value;
	throw new InvalidArgumentError("expected a whole number from 0 on");
}

/** Of things of which none makes no sense. */
export function positiveNumber(text: string): number {
	const value = /^\d{1,16}$/.test(text) ? wholeNumber(text) : 0;
	if (value > 0) return value;
	throw new InvalidArgumentError("expected a whole number from 1 on");
}

/** `120x40`. */
export function size(text: string): { cols: number; rows: number } {
	const [, cols, rows] = /^(\d{1,5})x(\d{1,5})$/i.exec(text) ?? [];
	if (Number(cols) > 0 && Number(rows) > 0) return { cols: Number(cols), rows: Number(rows) };
	throw new InvalidArgumentError("expected columns and rows, such as 120x40");
}

/** For options that may be given several times. */
export function collect(value: string, previous: readonly string[] = []): string[] {
	return [...previous, value];
}

/** `K=V`, each of them. */
export function pairs(texts: readonly string[], flag: string): Record<string, string> {
	return Object.fromEntries(
		texts.map((text) => {
			const split = text.indexOf("=");
			if (split > 0) return [text.slice(0, split), text.slice(split + 1)];
			throw new UsageError(`${flag}: expected K=V, not ${JSON.stringify(text)}`);
		}),
	);
}

/** `K=V`, or `K` alone for the value it has here. */
export function variables(pairs: readonly string[], env: NodeJS.ProcessEnv): Record<string, string | null> {
	return Object.fromEntries(
		pairs.map((pair) => {
			const split = pair.indexOf("=");
			if (split > 0) return [pair.slice(0, split), pair.slice(split + 1)];
			if (split === 0 || pair === "") throw new UsageError(`--env: expected K=V, not ${JSON.stringify(pair)}`);
			return [pair, env[pair] ?? null];
		}),
	);
}

/** Somewhere in a session's output. */
export function place(text: string): number | Date {
	if (/^\d{1,15}$/.test(text)) return Number(text);
	const moment = new Date(text);
	if (!Number.isNaN(moment.getTime())) return moment;
	throw new InvalidArgumentError("expected an offset, or a time such as 2026-01-31T12:00:00Z");
}
