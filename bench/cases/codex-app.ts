/** App-server as Codex uses it: commands, echoes and bulk output, over WebSocket and stdio; compared with the real one if CODEX=path is set. */

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { WebSocket } from "ws";
import { type Bar, type Case, ratio, type Sample } from "../case.ts";
import { percentile } from "../statistics.ts";

/** This file runs from dist-bench/bench/cases. */
const program = fileURLToPath(new URL("../../../dist/cli/main.js", import.meta.url));
const codex: string | undefined = process.env.CODEX || undefined;

const MIB = 1024 * 1024;
const carriers = ["ws", "stdio"] as const;

type Carrier = (typeof carriers)[number];
type Load = { readonly commands: number; readonly keys: number; readonly mebibytes: number };

const ours = (carrier: Carrier) => `hawser app-server, ${carrier}`;
const real = (carrier: Carrier) => `codex app-server, ${carrier}`;

export function codexAppCase(isQuick: boolean): Case {
	const load: Load = isQuick
		? { commands: 100, keys: 300, mebibytes: 32 }
		: { commands: 500, keys: 2000, mebibytes: 128 };
	return {
		name: "codex-app",
		title: "Codex app-server: commands, echoes and bulk output on a WebSocket and on stdio",
		note: "one Node.js client that looks at messages as bytes; a command is `command/exec` of /bin/true to its answer, without a sandbox and under `readOnly`, an echo is from `command/exec/write` of one byte to the `outputDelta` of `cat` on pipes, bulk is `head -c` of zeros without a cap, from the request to its answer, after a warm-up. Measured earlier for codex-cli 0.166.0, on a machine like this: a command 14 ms (ws) and 22 ms (stdio), sandboxed 115 ms, an echo 45 ms (ws, for it does not set TCP_NODELAY) and 0.46 ms (stdio), bulk 94 MB/s (ws) and 66 MB/s (stdio)",
		rounds: { full: 3, quick: 1 },
		metrics: [
			{ key: "commandP50", title: "command p50 ms", digits: 2 },
			{ key: "commandP99", title: "command p99 ms", digits: 2 },
			{ key: "confinedP50", title: "sandboxed p50 ms", digits: 2 },
			{ key: "echoP50", title: "echo p50 ms", digits: 3 },
			{ key: "echoP99", title: "echo p99 ms", digits: 3 },
			{ key: "rate", title: "bulk MB/s", digits: 0 },
		],
		bars: codex === undefined ? [] : carriers.flatMap(barsOf),
		variants: carriers.flatMap((carrier) => [
			{
				name: ours(carrier),
				measure: () => measure([process.execPath, program, "app-server"], carrier, load),
			},
			...(codex === undefined
				? []
				: [{ name: real(carrier), measure: () => measure([codex, "app-server"], carrier, load) }]),
		]),
	};
}

function barsOf(carrier: Carrier): Bar[] {
	const [our, other] = [ours(carrier), real(carrier)];
	return [
		{ title: `bulk on ${carrier}, MB/s to codex`, value: ratio("rate", our, other), digits: 2, atLeast: 1 },
		{ title: `command on ${carrier}, p50 to codex`, value: ratio("commandP50", our, other), digits: 2, atMost: 1 },
		{ title: `sandboxed on ${carrier}, p50 to codex`, value: ratio("confinedP50", our, other), digits: 2, atMost: 1 },
		{ title: `echo on ${carrier}, p50 to codex`, value: ratio("echoP50", our, other), digits: 2, atMost: 1 },
	];
}

async function measure([file = "", ...args]: readonly string[], carrier: Carrier, load: Load): Promise<Sample> {
	const listen = carrier === "ws" ? ["--listen", "ws://127.0.0.1:0"] : [];
	const child = spawn(file, [...args, ...listen], { stdio: ["pipe", "pipe", "pipe"] });
	try {
		const client = new Client(carrier === "ws" ? await overSocket(child) : overStdio(child));
		await client.handshake();
		const commands = await client.commands(load.commands);
		const confined = await client.commands(load.commands, { sandboxPolicy: { type: "readOnly" } });
		const echoes = await client.echoes(load.keys);
		await client.bulk(load.mebibytes);
		const rate = await client.bulk(load.mebibytes);
		return {
			commandP50: percentile(commands, 0.5),
			commandP99: percentile(commands, 0.99),
			confinedP50: percentile(confined, 0.5),
			echoP50: percentile(echoes, 0.5),
			echoP99: percentile(echoes, 0.99),
			rate,
		};
	} finally {
		const ended = once(child, "exit");
		child.kill("SIGTERM");
		await ended;
	}
}

/** Transports of messages. */
type Line = { send(text: string): void; onMessage: (data: Buffer) => void };

async function overSocket({ stderr }: ChildProcess): Promise<Line> {
	if (!stderr) throw new Error("no stderr");
	for await (const text of createInterface(stderr)) {
		const url = /listening on: (ws:\S+)/.exec(text)?.[1];
		if (url === undefined) continue;
		const socket = new WebSocket(url, { perMessageDeflate: false });
		await once(socket, "open");
		stderr.resume();
		const line: Line = { send: (message) => socket.send(message), onMessage: () => {} };
		socket.on("message", (data: Buffer) => line.onMessage(data));
		return line;
	}
	throw new Error("the server did not print its address");
}

function overStdio({ stdin, stdout, stderr }: ChildProcess): Line {
	if (!stdin || !stdout || !stderr) throw new Error("no pipes");
	stderr.resume();
	const line: Line = { send: (message) => void stdin.write(`${message}\n`), onMessage: () => {} };
	let pieces: Buffer[] = [];
	stdout.on("data", (bytes: Buffer) => {
		let from = 0;
		for (let end = bytes.indexOf(0x0a); end >= 0; end = bytes.indexOf(0x0a, from)) {
			line.onMessage(Buffer.concat([...pieces, bytes.subarray(from, end)]));
			pieces = [];
			from = end + 1;
		}
		if (from < bytes.length) pieces.push(bytes.subarray(from));
	});
	return line;
}

const DELTA = Buffer.from('"deltaBase64":"');

class Client {
	readonly #line: Line;
	#id = 0;

	constructor(line: Line) {
		this.#line = line;
	}

	async handshake(): Promise<void> {
		await this.#answered("initialize", { clientInfo: { name: "bench", version: "1" } });
		this.#line.send('{"method":"initialized"}');
	}

	async commands(count: number, params: object = {}): Promise<number[]> {
		return times(count, () => this.#exec(["/bin/true"], params));
	}

	async echoes(count: number): Promise<number[]> {
		const params = { processId: "echo", streamStdin: true, streamStdoutStderr: true, disableTimeout: true };
		const started = this.#until((data) => data.includes("outputDelta"));
		this.#ask("command/exec", execParams(["cat"], { ...params, disableOutputCap: true }));
		this.#ask("command/exec/write", { processId: "echo", deltaBase64: "eA==" });
		await started;
		const measured = await times(count, async () => {
			const echoed = this.#until((data) => data.includes("outputDelta"));
			this.#ask("command/exec/write", { processId: "echo", deltaBase64: "eA==" });
			await echoed;
		});
		const over = this.#until((data) => data.includes('"exitCode"'));
		this.#ask("command/exec/write", { processId: "echo", closeStdin: true });
		await over;
		return measured;
	}

	/** Megabytes per second. */
	async bulk(mebibytes: number): Promise<number> {
		let bytes = 0;
		const command = ["head", "-c", String(mebibytes * MIB), "/dev/zero"];
		const params = { processId: "bulk", streamStdoutStderr: true, disableOutputCap: true, disableTimeout: true };
		const begin = performance.now();
		await this.#exec(command, params, (data) => {
			const delta = data.indexOf(DELTA);
			if (delta >= 0 && delta < 300)
				bytes += Math.floor(((data.indexOf('"', delta + DELTA.length) - delta - DELTA.length) * 3) / 4);
		});
		const seconds = (performance.now() - begin) / 1000;
		// Each delta may include up to two bytes of padding.
		if (bytes < mebibytes * MIB || bytes > mebibytes * MIB * 1.01) throw new Error(`${bytes} bytes came`);
		return bytes / 1e6 / seconds;
	}

	#exec(command: readonly string[], params: object = {}, look: (data: Buffer) => void = () => {}): Promise<void> {
		return this.#answered("command/exec", execParams(command, params), look);
	}

	#answered(method: string, params: object, look: (data: Buffer) => void = () => {}): Promise<void> {
		const prefix = Buffer.from(`{"id":${this.#id + 1},"result"`);
		const answered = this.#until((data) => {
			look(data);
			return data.subarray(0, prefix.length).equals(prefix);
		});
		this.#ask(method, params);
		return answered;
	}

	#ask(method: string, params: object): void {
		this.#line.send(JSON.stringify({ id: ++this.#id, method, params }));
	}

	/** Resolves with the first matching message. */
	#until(isIt: (data: Buffer) => boolean): Promise<void> {
		return new Promise((resolve, reject) => {
			this.#line.onMessage = (data) => {
				if (data.length < 1000 && data.includes('{"error":')) reject(new Error(data.toString()));
				else if (isIt(data)) resolve();
			};
		});
	}
}

/** No sandbox on either side, unless the parameters request one. */
function execParams(command: readonly string[], params: object): object {
	return { command, sandboxPolicy: { type: "dangerFullAccess" }, ...params };
}

async function times(count: number, act: () => Promise<void>): Promise<number[]> {
	const measured: number[] = [];
	for (let i = 0; i < count; i++) {
		const begin = performance.now();
		await act();
		measured.push(performance.now() - begin);
	}
	return measured;
}
