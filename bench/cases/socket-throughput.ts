/** Throughput of the whole server to a WebSocket, compared with a C reader, and with ttyd if available. */

import { type Bar, type Case, ratio, type Sample, type Variant } from "../case.ts";
import type { HomeKind } from "../homes.ts";
import { serving } from "../served.ts";
import { ttyd, ttydVariant, withTtyd } from "../ttyd.ts";
import type { Payload, Workshop } from "../workshop.ts";
import { measured, type Target } from "../ws-client.ts";

type Mode = "pty" | "pipe";

/** Enough to compile hot code, in a keeper too; see throughput.ts. */
const WARM_UP_MEGABYTES = { full: 64, quick: 16 };
const PTY_MEGABYTES = { full: 100, quick: 20 };
/** The file is repeated on a pipe, which is about ten times as fast. */
const PIPE_REPEATS = { full: 8, quick: 10 };
/** A pipe needs a longer warm-up, because it delivers larger pieces. */
const WARM_UP_REPEATS = { pty: 1, pipe: 4 };
/** The pipe size of a shell. */
const DEFAULT_PIPE_BYTES = 64 * 1024;

export function socketThroughputCase(isQuick: boolean): Case {
	const size = isQuick ? "quick" : "full";
	const filesOf = (workshop: Workshop, mode: Mode): readonly Payload[] => {
		const payload = workshop.payload(`socket-${size}`, PTY_MEGABYTES[size]);
		return mode === "pty" ? [payload] : Array.from({ length: PIPE_REPEATS[size] }, () => payload);
	};
	const load = (workshop: Workshop, mode: Mode): Load => {
		const warmUp = workshop.payload(`socket-warm-up-${size}`, WARM_UP_MEGABYTES[size]);
		return { mode, warmUp, files: filesOf(workshop, mode) };
	};
	const ours = (name: string, mode: Mode, home: HomeKind): Variant => ({
		name,
		measure: (workshop) => measureOurs(workshop, home, load(workshop, mode)),
	});
	return {
		name: "socket-throughput",
		title: "Terminal and pipe to one WebSocket client",
		note: "`cat` of 79-column text to a C client that acknowledges every 64 KiB and discards, from the first byte to the last, after a warm-up; the keeper writes its journal; CPU of the server, and of the keeper where there is one. The C reader has no network to cross",
		rounds: { full: 3, quick: 1 },
		metrics: [
			{ key: "rate", title: "MB/s", digits: 1 },
			{ key: "cpu", title: "CPU s/GB", digits: 2 },
			{ key: "client", title: "client's CPU s/GB", digits: 2 },
			{ key: "chunk", title: "bytes per message", digits: 0 },
		],
		bars: [
			{
				title: "pipe in process, MB/s to C with a default pipe",
				value: ratio("rate", "pipe, in process", "pipe, C reader"),
				digits: 2,
				atLeast: 0.75,
			},
			...withTtyd(ttydBars),
		],
		variants: [
			{
				name: "PTY, C reader",
				measure: async (workshop) => toSample(await workshop.limit("pty", ...paths(filesOf(workshop, "pty")))),
			},
			ours("PTY, in process", "pty", "process"),
			ours("PTY, keeper", "pty", "keeper"),
			...ttydVariant("PTY, ttyd", (workshop) => measureTtyd(workshop, load(workshop, "pty"))),
			{
				name: "pipe, C reader",
				measure: async (workshop) =>
					toSample(await workshop.limit("pipe", DEFAULT_PIPE_BYTES, ...paths(filesOf(workshop, "pipe")))),
			},
			ours("pipe, in process", "pipe", "process"),
			ours("pipe, keeper", "pipe", "keeper"),
		],
	};
}

const toTtyd = (metric: string, variant: string) => ratio(metric, variant, "PTY, ttyd");
const ttydBars: readonly Bar[] = [
	{ title: "PTY in process, MB/s to ttyd", value: toTtyd("rate", "PTY, in process"), digits: 2, atLeast: 1.2 },
	{ title: "PTY in process, CPU to ttyd", value: toTtyd("cpu", "PTY, in process"), digits: 2, atMost: 0.8 },
	{ title: "PTY in a keeper, MB/s to ttyd", value: toTtyd("rate", "PTY, keeper"), digits: 2, atLeast: 1 },
	{ title: "PTY in a keeper, CPU to ttyd", value: toTtyd("cpu", "PTY, keeper"), digits: 2, atMost: 1.2 },
];

type Load = { readonly mode: Mode; readonly warmUp: Payload; readonly files: readonly Payload[] };

function measureOurs(workshop: Workshop, home: HomeKind, load: Load): Promise<Sample> {
	return serving(workshop, async (server) => {
		const { target, pids } = await server.create(home, { argv: argvOf(load), mode: load.mode });
		return bulk(workshop, target, pids, load);
	});
}

function measureTtyd(workshop: Workshop, load: Load): Promise<Sample> {
	return ttyd(argvOf(load), ({ target, pid }) => bulk(workshop, target, [pid], load));
}

async function bulk(workshop: Workshop, target: Target, pids: readonly number[], load: Load): Promise<Sample> {
	const arriving = ({ bytes, ttyBytes }: Payload) => (load.mode === "pty" ? ttyBytes : bytes);
	const total = load.files.reduce((sum, file) => sum + arriving(file), 0);
	const warm = WARM_UP_REPEATS[load.mode] * arriving(load.warmUp);
	return toSample(await measured(workshop, target, ["bulk", warm, total, ...pids]));
}

/** Starts when the client reads, and keeps running at the end, so that its keeper can still be measured. */
function argvOf({ mode, warmUp, files }: Load): string[] {
	const warming = '"$0" '.repeat(WARM_UP_REPEATS[mode]);
	const script = `printf R; read go; cat ${warming}; read go; cat "$@"; exec sleep 1000`;
	return ["/bin/sh", "-c", mode === "pty" ? `stty -echo; ${script}` : script, warmUp.path, ...paths(files)];
}

function paths(files: readonly Payload[]): string[] {
	return files.map(({ path }) => path);
}

function toSample(result: Readonly<Record<string, number>>): Sample {
	const { bytes = 0, seconds = 0, cpu = 0, client, messages } = result;
	const gigabytes = bytes / 1e9;
	return {
		rate: bytes / 1e6 / seconds,
		cpu: cpu / gigabytes,
		...(client === undefined ? {} : { client: client / gigabytes }),
		...(messages === undefined ? {} : { chunk: bytes / messages }),
	};
}
