/** Runs `true` on pipes repeatedly under one policy. */

import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { spawn } from "../../src/backends/spawn.ts";
import type { SandboxPolicy } from "../../src/core/process/sandbox-policy.ts";
import { Sandbox } from "../../src/sandbox/sandbox.ts";
import { startOf } from "../../test/support/starts.ts";
import { percentile } from "../statistics.ts";
import { finish, readInput } from "./input.ts";

export type SandboxInput = { readonly policy: SandboxPolicy["type"]; readonly runs: number };

/** Warm-up: caches fill, and minders are forked. */
const WARM_UPS = 10;

const { policy: type, runs, directory } = readInput<SandboxInput>();
const cwd = join(directory, "workspace");
await mkdir(cwd, { recursive: true });
const sandbox = await Sandbox.probe({ path: process.env.PATH, hidden: [join(directory, "run")] });
const times: number[] = [];
for (let run = -WARM_UPS; run < runs; run++) {
	const { command } = startOf(["/bin/true"], { mode: "pipe", stdin: "closed", cwd });
	const begin = performance.now();
	const applied = await sandbox.apply({ ...command, sandbox: { type } as SandboxPolicy });
	await new Promise<void>((resolve, reject) => {
		spawn(applied, (fact) => {
			if (fact.kind === "exited" && fact.exit.code !== 0) reject(new Error(`it ended with ${fact.exit.code}`));
			if (fact.kind === "closed") resolve();
		}).catch(reject);
	});
	if (run >= 0) times.push(performance.now() - begin);
}
finish({ p50: percentile(times, 0.5), p99: percentile(times, 0.99), max: Math.max(...times) });
