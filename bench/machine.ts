/** Describes the machine and measures stolen processor time. */

import { readFileSync } from "node:fs";
import { cpus, loadavg, release, totalmem } from "node:os";

export type Machine = {
	readonly cpu: string;
	readonly cores: number;
	readonly memoryGiB: number;
	readonly kernel: string;
	readonly node: string;
};

export function describeMachine(): Machine {
	const [first] = cpus();
	return {
		cpu: first?.model ?? "unknown",
		cores: cpus().length,
		memoryGiB: Math.round(totalmem() / 2 ** 30),
		kernel: release(),
		node: process.version,
	};
}

export function load(): number {
	return loadavg()[0] ?? Number.NaN;
}

/** Share of processor time that the hypervisor gave to other machines since the meter was created. */
export class StealMeter {
	readonly #start = readTicks();

	get share(): number {
		const now = readTicks();
		const all = now.all - this.#start.all;
		return all === 0 ? 0 : (now.stolen - this.#start.stolen) / all;
	}
}

/** The first line of /proc/stat: user nice system idle iowait irq softirq steal. Guest time is included in user. */
function readTicks(): { all: number; stolen: number } {
	const [line = ""] = readFileSync("/proc/stat", "utf8").split("\n");
	const ticks = line.split(/\s+/).slice(1, 9).map(Number);
	return { all: ticks.reduce((sum, each) => sum + each, 0), stolen: ticks[7] ?? 0 };
}
