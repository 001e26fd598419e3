/** Reads a program's output as fast as it comes and discards it, after a warm-up. */

import { BenchHome, type HomeKind } from "../homes.ts";
import { cpuSeconds } from "../processes.ts";
import { finish, readInput } from "./input.ts";

export type ThroughputInput = {
	readonly home: HomeKind;
	readonly mode: "pty" | "pipe";
	readonly journal: boolean;
	/** Bytes as they arrive: a terminal adds some. */
	readonly warmUp: { readonly path: string; readonly bytes: number };
	readonly files: readonly string[];
	readonly bytes: number;
};

const input = readInput<ThroughputInput>();
const home = await BenchHome.open({ kind: input.home, directory: input.directory, journal: input.journal });
// Starts when the reader reads, and keeps running at the end, so that its keeper can still be measured.
const script = 'printf R; read go; cat "$0"; read go; cat "$@"; exec sleep 1000';
const argv = [
	"/bin/sh",
	"-c",
	input.mode === "pty" ? `stty -echo; ${script}` : script,
	input.warmUp.path,
	...input.files,
];
const session = await home.start(argv, { mode: input.mode });
const pids = input.home === "keeper" ? [process.pid, await home.keeperPid(session)] : [process.pid];
const cpuUsed = () => pids.reduce((sum, pid) => sum + cpuSeconds(pid), 0);

/** Where the program waits for us to continue: ready, then warm. */
const warm = 1 + input.warmUp.bytes;
const end = warm + input.bytes;
let received = 0;
let chunks = 0;
let cpuBefore = 0;
let begin = 0;
for await (const item of session.follow({ offset: 0 }, { flow: "lossless" })) {
	if (item.kind === "gap") throw new Error(`lost ${item.to - item.from} bytes (${item.reason})`);
	if (item.kind !== "output") throw new Error(`unexpected ${item.kind} after ${received} bytes`);
	if (received === warm) begin = performance.now();
	if (received >= warm) chunks++;
	received += item.bytes.byteLength;
	if (received >= end) break;
	if (received !== 1 && received !== warm) continue;
	// Deferred work of the warm-up, such as the journal's last write, must not count.
	await new Promise((resolve) => setTimeout(resolve, 50));
	cpuBefore = cpuUsed();
	await session.act({ kind: "write", bytes: Buffer.from("\n") });
}
const seconds = (performance.now() - begin) / 1000;
const cpu = cpuUsed() - cpuBefore;
if (received !== end) throw new Error(`${received} bytes instead of ${end}`);
await home.close();
finish({ bytes: input.bytes, seconds, cpu, chunk: input.bytes / chunks });
