/** CPU and memory use of this machine or its container. */

import { readFile } from "node:fs/promises";
import { availableParallelism } from "node:os";

type Metrics = {
	readonly cpu_count: number;
	readonly cpu_used_pct: number;
	readonly mem_total_mib: number;
	readonly mem_used_mib: number;
	/** Milliseconds since the epoch. */
	readonly timestamp: number;
};

/** Shorter intervals give no meaningful share. */
const SHORTEST_MS = 100;

type CpuTimes = { readonly busy: number; readonly total: number; readonly at: number };

/** Measures the time since the previous sample, so that no request waits. */
export class Sampler {
	#since: CpuTimes | undefined;
	#usedPct = 0;

	async sample(): Promise<Metrics> {
		const timestamp = Date.now();
		await this.#measure();
		return { cpu_count: await cpuCount(), cpu_used_pct: this.#usedPct, ...(await memory()), timestamp };
	}

	async #measure(): Promise<void> {
		const now = await cpuTimes();
		const since = this.#since ?? { busy: 0, total: 0, at: Number.NEGATIVE_INFINITY };
		const total = now.total - since.total;
		if (now.at - since.at < SHORTEST_MS || total <= 0) return;
		this.#usedPct = Math.min(100, Math.max(0, (100 * (now.busy - since.busy)) / total));
		this.#since = now;
	}
}

/** Times of all processors since boot. */
async function cpuTimes(): Promise<CpuTimes> {
	const [line = ""] = (await readFile("/proc/stat", "latin1")).split("\n");
	// Fields: user nice system idle iowait irq softirq steal. Guest time is part of the first two.
	const times = line.split(/\s+/).slice(1, 9).map(Number);
	const total = times.reduce((sum, time) => sum + time, 0);
	return { busy: total - (times[3] ?? 0), total, at: performance.now() };
}

/** The cgroup's CPU quota, or the number of available processors. */
async function cpuCount(): Promise<number> {
	const [quota = "max", period = "1"] = (await ownFile("cpu.max")).split(" ");
	const share = Math.floor(Number(quota) / Number(period));
	return quota === "max" || quota === "" || !Number.isFinite(share) ? availableParallelism() : Math.max(1, share);
}

const MIB = 1024 * 1024;

/** Memory of the machine, or of the cgroup if that has a lower limit. */
async function memory(): Promise<Pick<Metrics, "mem_total_mib" | "mem_used_mib">> {
	const text = await readFile("/proc/meminfo", "latin1");
	const bytes = (name: string) => 1024 * Number(new RegExp(`^${name}:\\s+(\\d+)`, "m").exec(text)?.[1] ?? 0);
	const total = bytes("MemTotal");
	const used = total - bytes("MemFree") - bytes("Buffers") - bytes("Cached") - bytes("SReclaimable");
	const limit = Number((await ownFile("memory.max")) || "max");
	const current = Number(await ownFile("memory.current"));
	const cache = Number(/^inactive_file (\d+)/m.exec(await ownFile("memory.stat"))?.[1] ?? 0);
	const isLimited = limit > 0 && limit < total && current > 0;
	return inMib(isLimited ? { total: limit, used: current - cache } : { total, used });
}

function inMib({ total, used }: { readonly total: number; readonly used: number }) {
	return { mem_total_mib: total / MIB, mem_used_mib: Math.min(total, Math.max(0, used)) / MIB };
}

/** A file of the cgroup that appears as the root, as in a container; empty if absent. */
async function ownFile(name: string): Promise<string> {
	return (await readFile(`/sys/fs/cgroup/${name}`, "latin1").catch(() => "")).trim();
}
