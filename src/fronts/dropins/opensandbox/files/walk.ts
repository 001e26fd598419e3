/** Lists a directory tree, sorted by the bytes of names, without blocking other requests. */

import type { BigIntStats } from "node:fs";
import { lstat, opendir } from "node:fs/promises";
import { type BytePath, join, onDisk } from "./byte-path.ts";

export type Found = { readonly path: BytePath; readonly stats: BigIntStats };

/** Names sorted at once; takes a few milliseconds. */
const RUN_NAMES = 4096;
/** Files inspected concurrently. */
const BATCH = 64;

/** Called for entries that are gone or unreadable; may throw. */
type OnTrouble = (error: unknown) => undefined;

/**
 * A directory comes before its entries. Links are not followed. Unreadable entries below the root are skipped unless
 * `onTrouble` throws.
 */
export async function* walk(
	root: BytePath,
	depth: number,
	onTrouble: OnTrouble = () => undefined,
): AsyncGenerator<Found, void, void> {
	if (depth > 0) yield* below(root, await sortedRuns(root), { depth, onTrouble });
}

type Below = { readonly depth: number; readonly onTrouble: OnTrouble };

async function* below(directory: BytePath, runs: Runs, { depth, onTrouble }: Below): AsyncGenerator<Found, void, void> {
	for (const names of batches(merged(runs))) {
		const paths = names.map((name) => join(directory, name));
		const all = await Promise.all(paths.map((path) => lstat(onDisk(path), { bigint: true }).catch(onTrouble)));
		for (const [index, stats] of all.entries()) {
			const path = paths[index];
			if (!stats || path === undefined) continue;
			yield { path, stats };
			if (depth <= 1 || !stats.isDirectory()) continue;
			const inner = await sortedRuns(path).catch(onTrouble);
			if (inner) yield* below(path, inner, { depth: depth - 1, onTrouble });
		}
	}
}

type Runs = readonly (readonly BytePath[])[];

/** Sorted runs: sorting a million names at once would block everything for a second. */
async function sortedRuns(directory: BytePath): Promise<Runs> {
	const runs: BytePath[][] = [];
	let run: BytePath[] = [];
	for await (const { name } of await opendir(onDisk(directory), { encoding: "latin1", bufferSize: RUN_NAMES })) {
		run.push(name as BytePath);
		if (run.length < RUN_NAMES) continue;
		runs.push(run.sort());
		run = [];
	}
	return [...runs, run.sort()];
}

function* merged(runs: Runs): Generator<BytePath, void, void> {
	const left = runs.filter(({ length }) => length > 0).map((names) => ({ names, at: 0 }));
	while (left.length > 0) {
		let least = 0;
		for (let index = 1; index < left.length; index++) {
			if (headOf(left[index]) < headOf(left[least])) least = index;
		}
		const run = left[least];
		if (!run) return;
		yield headOf(run);
		if (++run.at === run.names.length) left.splice(least, 1);
	}
}

function headOf(run: { readonly names: readonly BytePath[]; readonly at: number } | undefined): BytePath {
	return (run?.names[run.at] ?? "") as BytePath;
}

function* batches<T>(all: Iterable<T>): Generator<T[], void, void> {
	let batch: T[] = [];
	for (const one of all) {
		batch.push(one);
		if (batch.length < BATCH) continue;
		yield batch;
		batch = [];
	}
	if (batch.length > 0) yield batch;
}
