/** Runs many short programs and counts those with incomplete output. */

import { readFileSync } from "node:fs";
import { BenchHome, type HomeKind } from "../homes.ts";
import { finish, readInput } from "./input.ts";

export type DrainInput = {
	readonly home: HomeKind;
	readonly programs: number;
	readonly small: string;
	readonly large: string;
};

const AT_A_TIME = 4;

const { home: kind, programs, small, large, directory } = readInput<DrainInput>();
const home = await BenchHome.open({ kind, directory, journal: kind === "keeper" });
const ofTerminal = (path: string) => readFileSync(path, "latin1").replaceAll("\n", "\r\n");
const hi = { argv: ["/bin/echo", "hi"], expected: "hi\r\n" };
const twenty = { argv: ["/bin/cat", small], expected: ofTerminal(small) };
const million = { argv: ["/bin/cat", large], expected: ofTerminal(large) };
// Six of ten say hi, three print some screens, one prints a megabyte.
const mix = [hi, twenty, hi, million, hi, twenty, hi, hi, twenty, hi];

let started = 0;
let lossy = 0;
let lostBytes = 0;
let bytes = 0;
const begin = performance.now();
await Promise.all(Array.from({ length: AT_A_TIME }, work));
const seconds = (performance.now() - begin) / 1000;
await home.close();
finish({ programs: started, lossy, lostBytes, megabytes: bytes / 1e6, seconds });

async function work(): Promise<void> {
	while (started < programs) {
		const { argv, expected } = mix[started++ % mix.length] as typeof hi;
		const session = await home.start(argv);
		const chunks: Uint8Array[] = [];
		let last = "";
		for await (const item of session.follow({ offset: 0 }, { flow: "lossless" })) {
			last = item.kind;
			if (item.kind === "output") chunks.push(item.bytes);
		}
		const output = Buffer.concat(chunks).toString("latin1");
		bytes += output.length;
		if (output !== expected || last !== "closed") lossy++;
		lostBytes += Math.abs(expected.length - output.length);
		await home.end(session);
	}
}
