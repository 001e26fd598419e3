/** Latency and throughput of foreground commands of the OpenSandbox front, with the published SDK and without. */

import { ConnectionConfig, DefaultAdapterFactory } from "@alibaba-group/opensandbox";
import type { Case, Sample, Variant } from "../case.ts";
import { type Served, serving } from "../served.ts";
import { percentile } from "../statistics.ts";
import type { Workshop } from "../workshop.ts";

const RUNS = { full: 300, quick: 50 };
/** The first runs load code on both sides. */
const WARM_UP_RUNS = 20;
const MEGABYTES = { full: 100, quick: 20 };
const MOST_MS = 20;

type Commands = ReturnType<DefaultAdapterFactory["createExecdStack"]>["commands"];

export function openSandboxCase(isQuick: boolean): Case {
	const size = isQuick ? "quick" : "full";
	const latency = (name: string, once: (commands: Commands) => Promise<number>): Variant => ({
		name,
		measure: (workshop) =>
			serving(workshop, (server) => withSdk(server, (commands) => times(commands, RUNS[size], once))),
	});
	return {
		name: "opensandbox",
		title: "A foreground command over the OpenSandbox front",
		note: "`commands.run` of the published SDK, one after the other, from the call to its answer, and to its first line of output; then `cat` of 79-column text as events, to a client that only counts what arrives",
		rounds: { full: 3, quick: 1 },
		metrics: [
			{ key: "p50", title: "p50 ms", digits: 2 },
			{ key: "p99", title: "p99 ms", digits: 2 },
			{ key: "rate", title: "output MB/s", digits: 1 },
		],
		bars: [
			{
				title: '`commands.run("true")`, p50 ms',
				value: (round) => round("run true", "p50"),
				digits: 2,
				atMost: MOST_MS,
			},
		],
		variants: [
			latency("run true", async (commands) => {
				const since = performance.now();
				await commands.run("true");
				return performance.now() - since;
			}),
			latency("first line", firstLine),
			{
				name: "lines",
				measure: (workshop) => serving(workshop, (server) => lines(workshop, server, size)),
			},
		],
	};
}

async function withSdk<T>({ target }: Served, use: (commands: Commands) => Promise<T>): Promise<T> {
	const headers = { "X-EXECD-ACCESS-TOKEN": target.token ?? "" };
	const connectionConfig = new ConnectionConfig({ headers }).withTransportIfMissing();
	const execdBaseUrl = `http://127.0.0.1:${target.port}/opensandbox`;
	try {
		return await use(new DefaultAdapterFactory().createExecdStack({ connectionConfig, execdBaseUrl }).commands);
	} finally {
		await connectionConfig.closeTransport();
	}
}

async function times(commands: Commands, runs: number, once: (commands: Commands) => Promise<number>): Promise<Sample> {
	for (let i = 0; i < WARM_UP_RUNS; i++) await once(commands);
	const ms: number[] = [];
	for (let i = 0; i < runs; i++) ms.push(await once(commands));
	return { p50: percentile(ms, 0.5), p99: percentile(ms, 0.99) };
}

async function firstLine(commands: Commands): Promise<number> {
	const since = performance.now();
	let ms = Number.NaN;
	await commands.run("echo hi", undefined, {
		onStdout: () => {
			ms = performance.now() - since;
		},
	});
	return ms;
}

async function lines(workshop: Workshop, { target }: Served, size: "full" | "quick"): Promise<Sample> {
	const { path, bytes } = workshop.payload(`opensandbox-${size}`, MEGABYTES[size]);
	const cat = () => drain(target.port, target.token ?? "", `cat ${path}`);
	await cat();
	const since = performance.now();
	await cat();
	return { rate: bytes / 1e6 / ((performance.now() - since) / 1000) };
}

/** Reads a stream to its end and checks that the command has completed. */
async function drain(port: number, token: string, command: string): Promise<void> {
	const response = await fetch(`http://127.0.0.1:${port}/opensandbox/command`, {
		method: "POST",
		headers: { "X-EXECD-ACCESS-TOKEN": token },
		body: JSON.stringify({ command }),
	});
	let last = new Uint8Array();
	for await (const chunk of response.body ?? []) last = chunk as Uint8Array<ArrayBuffer>;
	if (!Buffer.from(last).includes("execution_complete")) throw new Error(`${command}: the stream did not end well`);
}
