/** Metrics of the server. */

import { type IntervalHistogram, monitorEventLoopDelay } from "node:perf_hooks";
import type { Sessions } from "../../core/session/session-registry.ts";
import type { Status } from "../../words/state.ts";
import { encodeMetric, type Metric } from "./metric.ts";
import type { TrafficCounters } from "./traffic.ts";

/** Resolution of the event loop delay. */
const RESOLUTION_MS = 20;
const NANOSECONDS = 1e9;
const statuses: readonly Status[] = ["running", "exited", "closed", "lost"];

type MetricsOptions = {
	readonly sessions: Sessions;
	readonly traffic: TrafficCounters;
	readonly version: string;
	/** Metrics of other parts of the server: keepers, journals. */
	readonly others?: (() => Promise<readonly Metric[]>) | undefined;
};

/** Returns a function that renders the metrics page. Delays are measured from the first page on, so an unmonitored server can sleep. */
export function createMetrics(options: MetricsOptions, signal: AbortSignal): () => Promise<string> {
	const delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
	signal.addEventListener("abort", () => delay.disable(), { once: true });
	return async () => {
		const page = [...sessionMetrics(options), ...trafficMetrics(options.traffic), ...processMetrics(delay)];
		// Each page covers the time since the previous one.
		delay.reset();
		delay.enable();
		return [...page, ...((await options.others?.()) ?? [])].map(encodeMetric).join("");
	};
}

function sessionMetrics({ sessions, version }: MetricsOptions): Metric[] {
	const all = sessions.list();
	const count = (status: Status) => all.filter(({ state }) => state.status === status).length;
	return [
		{
			name: "hawser_info",
			help: "The version of the server.",
			type: "gauge",
			values: [{ labels: { version }, value: 1 }],
		},
		{
			name: "hawser_sessions",
			help: "Sessions, by state.",
			type: "gauge",
			values: statuses.map((state) => ({ labels: { state }, value: count(state) })),
		},
	];
}

function trafficMetrics(traffic: TrafficCounters): Metric[] {
	return [
		{
			name: "hawser_attachments",
			help: "Clients that follow a session or the feed now, by kind.",
			type: "gauge",
			values: [
				{ labels: { kind: "websocket" }, value: traffic.sockets },
				{ labels: { kind: "sse" }, value: traffic.streams },
			],
		},
		{
			name: "hawser_input_bytes_total",
			help: "Input that sessions accepted.",
			type: "counter",
			values: [{ value: traffic.bytesIn }],
		},
		{
			name: "hawser_output_bytes_total",
			help: "Output that was sent to clients.",
			type: "counter",
			values: [{ value: traffic.bytesOut }],
		},
		{
			name: "hawser_live_skipped_bytes_total",
			help: "Output that live clients skipped.",
			type: "counter",
			values: [{ value: traffic.bytesSkipped }],
		},
	];
}

function processMetrics(delay: IntervalHistogram): Metric[] {
	// Each delay includes the period of the measuring timer.
	const seconds = (nanoseconds: number) => Math.max(0, nanoseconds / NANOSECONDS - RESOLUTION_MS / 1000);
	const { heapUsed, rss } = process.memoryUsage();
	return [
		{
			name: "hawser_event_loop_lag_seconds",
			help: "How late the event loop was since the last page.",
			type: "gauge",
			values: [
				{ labels: { quantile: "0.5" }, value: seconds(delay.percentile(50)) },
				{ labels: { quantile: "0.99" }, value: seconds(delay.percentile(99)) },
				{ labels: { quantile: "1" }, value: seconds(delay.max) },
			],
		},
		{
			name: "hawser_memory_bytes",
			help: "Memory of the server process.",
			type: "gauge",
			values: [
				{ labels: { kind: "rss" }, value: rss },
				{ labels: { kind: "heap" }, value: heapUsed },
			],
		},
		{
			name: "hawser_uptime_seconds",
			help: "Time since the server process started.",
			type: "counter",
			values: [{ value: process.uptime() }],
		},
	];
}
