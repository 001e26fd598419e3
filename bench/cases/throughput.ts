/** Throughput in process and through a keeper, compared with a C program that only reads: on a terminal, and on a pipe. */

import { type Case, ratio, type Sample, type Variant } from "../case.ts";
import type { ThroughputInput } from "../programs/throughput.ts";
import type { Payload, Workshop } from "../workshop.ts";

/** Code that runs once per 256 KiB, or per 512 KiB in a journal, is still being compiled after a thousand runs. */
const WARM_UP_MEGABYTES = 256;
/** Long enough that random effects of the scheduler average out. */
const PTY_MEGABYTES = { full: 300, quick: 30 };
const PIPE_MEGABYTES = 100;
/** The file is repeated on a pipe, which is about thirty times as fast. */
const PIPE_REPEATS = { full: 15, quick: 10 };
/** The pipe size of a shell, and ours (native/spawn.c). */
const PIPE_BYTES = { default: 64 * 1024, ours: 256 * 1024 };

const metrics = [
	{ key: "rate", title: "MB/s", digits: 1 },
	{ key: "cpu", title: "CPU s/GB", digits: 2 },
	{ key: "chunk", title: "bytes per chunk", digits: 0 },
];

export function ptyCase(isQuick: boolean): Case {
	const size = (workshop: Workshop) => workshop.payload("pty", isQuick ? PTY_MEGABYTES.quick : PTY_MEGABYTES.full);
	const bare: Variant = {
		name: "C reader",
		measure: async (workshop) => toSample(await workshop.limit("pty", size(workshop).path)),
	};
	const ours = (name: string, home: "process" | "keeper", journal: boolean): Variant => ({
		name,
		measure: (workshop) => measure(workshop, { home, journal, mode: "pty" }, [size(workshop)]),
	});
	return {
		name: "pty",
		title: "Terminal to a reader that discards",
		note: "`cat` of 79-column text on a cooked terminal, from the first byte to the last, after 256 MB of warm-up; lossless cursor; CPU of the server, and of the keeper where there is one",
		// More rounds than elsewhere: with four busy threads on few cores, results differ by a fifth between runs.
		rounds: { full: 9, quick: 2 },
		metrics,
		bars: [
			{ title: "in process, MB/s to C", value: ratio("rate", "in process", bare.name), digits: 2, atLeast: 0.9 },
			{ title: "keeper, MB/s to in process", value: ratio("rate", "keeper", "in process"), digits: 2, atLeast: 0.9 },
			{
				title: "keeper with journal, MB/s to in process with journal",
				value: ratio("rate", "keeper, journal", "in process, journal"),
				digits: 2,
				atLeast: 0.9,
			},
		],
		variants: [
			bare,
			ours("in process", "process", false),
			ours("in process, journal", "process", true),
			ours("keeper", "keeper", false),
			ours("keeper, journal", "keeper", true),
		],
	};
}

export function pipeCase(isQuick: boolean): Case {
	const files = (workshop: Workshop): readonly Payload[] => {
		const payload = workshop.payload("pipe", PIPE_MEGABYTES);
		return Array.from({ length: isQuick ? PIPE_REPEATS.quick : PIPE_REPEATS.full }, () => payload);
	};
	const bare = (name: string, bytes: number): Variant => ({
		name,
		measure: async (workshop) =>
			toSample(await workshop.limit("pipe", bytes, ...files(workshop).map(({ path }) => path))),
	});
	const ours = (name: string, home: "process" | "keeper"): Variant => ({
		name,
		measure: (workshop) => measure(workshop, { home, journal: false, mode: "pipe" }, files(workshop)),
	});
	return {
		name: "pipe",
		title: "Pipe to a reader that discards",
		note: "`cat` of the same text, repeated, from the first byte to the last, after 256 MB of warm-up; lossless cursor",
		rounds: { full: 5, quick: 2 },
		metrics,
		bars: [
			{
				title: "in process, MB/s to C with a default pipe",
				value: ratio("rate", "in process", "C reader, default pipe"),
				digits: 2,
				atLeast: 0.75,
			},
		],
		variants: [
			bare("C reader, pipe as ours", PIPE_BYTES.ours),
			bare("C reader, default pipe", PIPE_BYTES.default),
			ours("in process", "process"),
			ours("keeper", "keeper"),
		],
	};
}

async function measure(
	workshop: Workshop,
	how: Pick<ThroughputInput, "home" | "journal" | "mode">,
	files: readonly Payload[],
): Promise<Sample> {
	const arriving = (payload: Payload) => (how.mode === "pty" ? payload.ttyBytes : payload.bytes);
	const warmUp = workshop.payload("warm-up", WARM_UP_MEGABYTES);
	const input: ThroughputInput = {
		...how,
		warmUp: { path: warmUp.path, bytes: arriving(warmUp) },
		files: files.map(({ path }) => path),
		bytes: files.reduce((sum, payload) => sum + arriving(payload), 0),
	};
	return toSample(await workshop.child("throughput", input));
}

function toSample({ bytes = 0, seconds = 0, cpu = 0, chunk }: Readonly<Record<string, number>>): Sample {
	return { rate: bytes / 1e6 / seconds, cpu: cpu / (bytes / 1e9), ...(chunk === undefined ? {} : { chunk }) };
}
