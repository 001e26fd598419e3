/** Delay until a waiting program is noticed, and the cost of watching many waiting programs. */

import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { type Client, connect, type FeedEvent } from "../../src/client/index.ts";
import type { Case, Sample } from "../case.ts";
import { type Served, serving } from "../served.ts";
import { percentile } from "../statistics.ts";
import type { Workshop } from "../workshop.ts";

const PROMPTS = { full: 200, quick: 50 };
const SESSIONS = { full: 100, quick: 20 };
/** One or two inspections of each session while nothing happens. */
const WATCHED_MS = { full: 10_000, quick: 5_000 };
/** After the inspections that follow a start. */
const SETTLING_MS = 1_500;
const SHELL = { argv: ["bash", "--norc", "--noprofile"], env: { PS1: "ready> " } };
/** Silent, and may begin to wait at any time. A shell at its prompt would cost nothing. */
const SILENT = { argv: ["sh", "-c", "echo ready; sleep 1000; read line"] };
const LATEST_MS = 60;
const CPU_MS_PER_SECOND = 20;
/** Unit of times in /proc/PID/stat. */
const TICK_MS = 10;

export function waitsCase(isQuick: boolean): Case {
	const sessions = isQuick ? SESSIONS.quick : SESSIONS.full;
	const watchedMs = isQuick ? WATCHED_MS.quick : WATCHED_MS.full;
	const prompts = isQuick ? PROMPTS.quick : PROMPTS.full;
	return {
		name: "waits",
		title: "Programs that wait for input",
		note: `a shell in a keeper: from its prompt's arrival at a viewer to the event \`ready\`, ${prompts} times; ${sessions} scripts in process that sleep for ${watchedMs / 1000} s: the server's processor time with one follower of \`/v1/events\`, and without`,
		rounds: { full: 3, quick: 1 },
		metrics: [
			{ key: "p50", title: "p50 ms", digits: 1 },
			{ key: "p99", title: "p99 ms", digits: 1 },
			{ key: "cpu", title: "CPU ms/s", digits: 1 },
		],
		bars: [
			{ title: "verdict, p99 ms", value: (round) => round("prompt", "p99"), digits: 1, atMost: LATEST_MS },
			{
				title: "watching, CPU ms/s",
				value: (round) => round("watched", "cpu") - round("unwatched", "cpu"),
				digits: 1,
				atMost: CPU_MS_PER_SECOND,
			},
		],
		variants: [
			{ name: "prompt", measure: (workshop) => serving(workshop, (server) => measurePrompts(server, prompts)) },
			{ name: "watched", measure: (workshop) => measureWatching(workshop, { sessions, watchedMs, isWatched: true }) },
			{
				name: "unwatched",
				measure: (workshop) => measureWatching(workshop, { sessions, watchedMs, isWatched: false }),
			},
		],
	};
}

function clientOf({ target }: Served): Client {
	return connect({ url: `http://127.0.0.1:${target.port}`, token: target.token });
}

/** Reads the events until the signal aborts. */
async function listen(client: Client, signal: AbortSignal, onEvent: (event: FeedEvent) => void): Promise<void> {
	for await (const item of client.events({ signal })) if (item.kind === "event") onEvent(item.event);
}

async function measurePrompts(server: Served, count: number): Promise<Sample> {
	const client = clientOf(server);
	const controller = new AbortController();
	let shownAt = Number.NaN;
	let onReady = () => {};
	const listening = listen(client, controller.signal, ({ type }) => type === "ready" && onReady());
	const attachment = (await client.sessions.create(SHELL)).attach();
	const reading = (async () => {
		for await (const event of attachment) if (event.kind === "output") shownAt = performance.now();
	})();
	const times: number[] = [];
	for (let prompts = 0; prompts <= count; prompts++) {
		const ready = new Promise<void>((resolve) => {
			onReady = resolve;
		});
		if (prompts > 0) await attachment.write("\r");
		await ready;
		// The first event is that of the newly started shell.
		if (prompts > 0) times.push(performance.now() - shownAt);
	}
	controller.abort();
	await attachment.detach();
	await Promise.all([reading, listening]);
	return { p50: percentile(times, 0.5), p99: percentile(times, 0.99), cpu: Number.NaN };
}

type Watching = { readonly sessions: number; readonly watchedMs: number; readonly isWatched: boolean };

function measureWatching(workshop: Workshop, { sessions, watchedMs, isWatched }: Watching): Promise<Sample> {
	return serving(workshop, async (server) => {
		const client = clientOf(server);
		const controller = new AbortController();
		const listening = isWatched ? listen(client, controller.signal, () => {}) : Promise.resolve();
		for (let i = 0; i < sessions; i++) await server.create("process", SILENT);
		await sleep(SETTLING_MS);
		const before = processorMs(server.pid);
		await sleep(watchedMs);
		const cpu = ((processorMs(server.pid) - before) * 1000) / watchedMs;
		controller.abort();
		await listening;
		return { p50: Number.NaN, p99: Number.NaN, cpu };
	});
}

/** Includes ended threads, such as those of inspections. */
function processorMs(pid: number): number {
	const text = readFileSync(`/proc/${pid}/stat`, "latin1");
	const [user, system] = text
		.slice(text.lastIndexOf(")") + 2)
		.split(" ")
		.slice(11, 13);
	return (Number(user) + Number(system)) * TICK_MS;
}
