/** `/metrics` and `/metrics/watch`: contract of files, section 3.12. */

import { expect, test } from "vitest";
import { Sampler } from "../../../../src/fronts/dropins/opensandbox/metrics/sampler.ts";
import { fastestMs } from "../../../support/cpu-time.ts";
import { eventually } from "../../../support/reading.ts";
import { startExecd } from "./support/execd-server.ts";

type Metrics = Record<"cpu_count" | "cpu_used_pct" | "mem_total_mib" | "mem_used_mib" | "timestamp", number>;

function check(metrics: Metrics): void {
	expect(Object.keys(metrics).sort()).toEqual([
		"cpu_count",
		"cpu_used_pct",
		"mem_total_mib",
		"mem_used_mib",
		"timestamp",
	]);
	expect(metrics.cpu_count).toBeGreaterThanOrEqual(1);
	expect(metrics.mem_total_mib).toBeGreaterThan(0);
	for (const [value, most] of [
		[metrics.cpu_used_pct, 100],
		[metrics.mem_used_mib, metrics.mem_total_mib],
	] as const) {
		expect(value).toBeGreaterThanOrEqual(0);
		expect(value).toBeLessThanOrEqual(most);
	}
	expect(Math.abs(Date.now() - metrics.timestamp)).toBeLessThan(10_000);
}

test("scenario 25: a sample is available at once, with plausible values", async () => {
	const server = await startExecd();
	const ask = async () => {
		const response = await server.request("/metrics");
		check((await response.json()) as Metrics);
		expect(response.headers.get("content-type")).toBe("application/json; charset=utf-8");
	};
	// The original measures for a second first.
	expect(await fastestMs(ask)).toBeLessThan(500);
});

test("a busy processor is visible", async () => {
	const sampler = new Sampler();
	await sampler.sample();
	const until = performance.now() + 300;
	while (performance.now() < until);
	expect((await sampler.sample()).cpu_used_pct).toBeGreaterThan(0);
});

test("scenario 25, F-20: each watcher gets one event per second, ended by a blank line; all get the same, and without watchers nothing is measured", async () => {
	const server = await startExecd();
	const leaving = new AbortController();
	const watch = async () => {
		const response = await server.request("/metrics/watch", { signal: leaving.signal });
		expect(response.headers.get("content-type")).toBe("text/event-stream");
		const events: Metrics[] = [];
		void (async () => {
			let text = "";
			for await (const chunk of response.body ?? []) {
				text += Buffer.from(chunk as Uint8Array).toString();
				for (let end = text.indexOf("\n\n"); end >= 0; end = text.indexOf("\n\n")) {
					events.push(JSON.parse(text.slice(0, end)) as Metrics);
					text = text.slice(end + 2);
				}
			}
		})().catch(() => {});
		return events;
	};
	const [first, second] = await Promise.all([watch(), watch()]);
	// A watcher that came a moment earlier may have one more.
	const since = () => Math.max(...[first, second].map(([event]) => event?.timestamp ?? Number.POSITIVE_INFINITY));
	const [mine, others] = await eventually("three events for both", () => {
		const of = (events: Metrics[]) => events.filter(({ timestamp }) => timestamp >= since()).slice(0, 3);
		const both = [of(first), of(second)] as const;
		return both.every(({ length }) => length === 3) && both;
	});
	expect(mine).toEqual(others);
	const [one = 0, two = 0, three = 0] = mine.map(({ timestamp }) => timestamp);
	expect(Math.min(two - one, three - two)).toBeLessThan(2_000);
	first.forEach(check);
	leaving.abort();
	await eventually("no timer", () => !process.getActiveResourcesInfo().includes("Interval"));
});
