/** Exec-server as Codex uses it: starts, echoes and bulk output; compared with the real one if CODEX=path is set. */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { WebSocket } from "ws";
import { type Bar, type Case, ratio, type Sample } from "../case.ts";
import { percentile } from "../statistics.ts";

/** This file runs from dist-bench/bench/cases. */
const program = fileURLToPath(new URL("../../../dist/cli/main.js", import.meta.url));
const codex: string | undefined = process.env.CODEX || undefined;

const OURS = "hawser exec-server";
const REAL = "codex exec-server";
const MIB = 1024 * 1024;

type Load = { readonly starts: number; readonly keys: number; readonly mebibytes: number };

export function codexExecCase(isQuick: boolean): Case {
	const load: Load = isQuick ? { starts: 100, keys: 300, mebibytes: 32 } : { starts: 500, keys: 2000, mebibytes: 128 };
	return {
		name: "codex-exec",
		title: "Codex exec-server: starts, echoes and bulk output over its WebSocket",
		note: "one Node.js client that looks at messages as bytes; a start is from `process/start` of /bin/true to `process/closed`, an echo from `process/write` of one byte to the `process/output` of `cat` on pipes, bulk is `head -c` of zeros on a pipe, from the request to `process/closed`, after a warm-up. Measured earlier for codex-cli 0.166.0, on a machine like this: 212 MB/s on pipes, 43 ms an echo, about 44 ms a start, the last two because it does not set TCP_NODELAY",
		rounds: { full: 3, quick: 1 },
		metrics: [
			{ key: "startP50", title: "start p50 ms", digits: 2 },
			{ key: "startP99", title: "start p99 ms", digits: 2 },
			{ key: "echoP50", title: "echo p50 ms", digits: 3 },
			{ key: "echoP99", title: "echo p99 ms", digits: 3 },
			{ key: "rate", title: "bulk MB/s", digits: 0 },
		],
		bars: codex === undefined ? [] : bars,
		variants: [
			{ name: OURS, measure: () => measure([process.execPath, program], load) },
			...(codex === undefined ? [] : [{ name: REAL, measure: () => measure([codex], load) }]),
		],
	};
}

const bars: readonly Bar[] = [
	{ title: "bulk, MB/s to codex", value: ratio("rate", OURS, REAL), digits: 2, atLeast: 1 },
	{ title: "start, p50 to codex", value: ratio("startP50", OURS, REAL), digits: 2, atMost: 1 },
	{ title: "echo, p50 to codex", value: ratio("echoP50", OURS, REAL), digits: 2, atMost: 1 },
];

async function measure([file = "", ...args]: readonly string[], load: Load): Promise<Sample> {
	const child = spawn(file, [...args, "exec-server", "--listen", "ws://127.0.0.1:0"], {
		stdio: ["ignore", "pipe", "inherit"],
	});
	try {
		const [url] = (await once(createInterface({ input: child.stdout }), "line")) as [string];
		const client = await Client.open(url.trim());
		const starts = await client.starts(load.starts);
		const echoes = await client.echoes(load.keys);
		await client.bulk(load.mebibytes);
		const rate = await client.bulk(load.mebibytes);
		client.close();
		return {
			startP50: percentile(starts, 0.5),
			startP99: percentile(starts, 0.99),
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

const CHUNK = Buffer.from('"chunk":"');

class Client {
	readonly #socket: WebSocket;
	#id = 0;
	#onMessage: (data: Buffer) => void = () => {};

	static async open(url: string): Promise<Client> {
		const socket = new WebSocket(url, { perMessageDeflate: false });
		await once(socket, "open");
		const client = new Client(socket);
		const answered = client.#until((data) => data.includes("sessionId"));
		client.#ask("initialize", { clientName: "bench" });
		await answered;
		socket.send('{"method":"initialized"}');
		return client;
	}

	private constructor(socket: WebSocket) {
		this.#socket = socket;
		socket.on("message", (data: Buffer) => this.#onMessage(data));
	}

	async starts(count: number): Promise<number[]> {
		return this.#times(count, async (i) => {
			const closed = this.#until((data) => data.includes('"process/closed"'));
			this.#start(`start-${i}`, ["/bin/true"]);
			await closed;
		});
	}

	async echoes(count: number): Promise<number[]> {
		const started = this.#until((data) => data.includes('"sandboxType"'));
		this.#start("echo", ["cat"], true);
		await started;
		const times = await this.#times(count, async (i) => {
			const echoed = this.#until((data) => data.includes('"process/output"'));
			this.#ask("process/write", { processId: "echo", chunk: "eA==", writeId: String(i) });
			await echoed;
		});
		const closed = this.#until((data) => data.includes('"process/closed"'));
		this.#ask("process/terminate", { processId: "echo" });
		await closed;
		return times;
	}

	/** Megabytes per second. */
	async bulk(mebibytes: number): Promise<number> {
		let bytes = 0;
		const closed = this.#until((data) => {
			const chunk = data.indexOf(CHUNK);
			if (chunk >= 0 && chunk < 300)
				bytes += Math.floor(((data.indexOf('"', chunk + CHUNK.length) - chunk - CHUNK.length) * 3) / 4);
			return data.length < 300 && data.includes('"process/closed"');
		});
		const begin = performance.now();
		this.#start(`bulk-${this.#id}`, ["head", "-c", String(mebibytes * MIB), "/dev/zero"]);
		await closed;
		const seconds = (performance.now() - begin) / 1000;
		// Each chunk may include up to two bytes of padding.
		if (bytes < mebibytes * MIB || bytes > mebibytes * MIB * 1.01) throw new Error(`${bytes} bytes came`);
		return bytes / 1e6 / seconds;
	}

	close(): void {
		this.#socket.terminate();
	}

	#start(processId: string, argv: readonly string[], pipeStdin = false): void {
		const env = { PATH: process.env.PATH ?? "/usr/bin:/bin" };
		this.#ask("process/start", { processId, argv, cwd: "file:///tmp", env, tty: false, pipeStdin });
	}

	#ask(method: string, params: object): void {
		this.#socket.send(JSON.stringify({ id: ++this.#id, method, params }));
	}

	/** Resolves with the first matching message. */
	#until(isIt: (data: Buffer) => boolean): Promise<void> {
		return new Promise((resolve) => {
			this.#onMessage = (data) => {
				if (isIt(data)) resolve();
			};
		});
	}

	async #times(count: number, act: (i: number) => Promise<void>): Promise<number[]> {
		const times: number[] = [];
		for (let i = 0; i < count; i++) {
			const begin = performance.now();
			await act(i);
			times.push(performance.now() - begin);
		}
		return times;
	}
}
