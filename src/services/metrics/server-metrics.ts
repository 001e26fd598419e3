/** Metrics of the server. */

import { type IntervalHistogram, monitorEventLoopDelay } from "node:perf_hooks";
import type { Sessions } from "../../core/session/session-registry.ts";
import type { Status } from "../../words/state.ts";
import { counter, encodeMetric, gauge, type Metric } from "./metric.ts";
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
		gauge("hawser_info", "The version of the server.", [{ labels: { version }, value: 1 }]),
		gauge(
			"hawser_sessions",
			"Sessions, by state.",
			statuses.map((state) => ({ labels: { state }, value: count(state) })),
		),
	];
}

function trafficMetrics(traffic: TrafficCounters): Metric[] {
	return [
		gauge("hawser_attachments", "Clients that follow a session or the feed now, by kind.", [
			{ labels: { kind: "websocket" }, value: traffic.sockets },
			{ labels: { kind: "sse" }, value: traffic.streams },
		]),
		counter("hawser_input_bytes_total", "Input that sessions accepted.", traffic.bytesIn),
		counter("hawser_output_bytes_total", "Output that was sent to clients.", traffic.bytesOut),
		counter("hawser_live_skipped_bytes_total", "Output that live clients skipped.", traffic.bytesSkipped),
	];
}

function processMetrics(delay: IntervalHistogram): Metric[] {
	// Each delay includes the period of the measuring timer.
	const seconds = (nanoseconds: number) => Math.max(0, nanoseconds / NANOSECONDS - RESOLUTION_MS / 1000);
	const { heapUsed, rss } = process.memoryUsage();
	return [
		gauge("hawser_event_loop_lag_seconds", "How late the event loop was since the last page.", [
			{ labels: { quantile: "0.5" }, value: seconds(delay.percentile(50)) },
			{ labels: { quantile: "0.99" }, value: seconds(delay.percentile(99)) },
			{ labels: { quantile: "1" }, value: seconds(delay.max) },
		]),
		gauge("hawser_memory_bytes", "Memory of the server process.", [
			{ labels: { kind: "rss" }, value: rss },
			{ labels: { kind: "heap" }, value: heapUsed },
		]),
		counter("hawser_uptime_seconds", "Time since the server process started.", process.uptime()),
	];
}
