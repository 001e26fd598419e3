/**
 * A client under every failure: pseudo-random bytes through a raw `cat` and back, with occasional resizes, over a
 * network that cuts every connection, with a server that is killed in between.
 */

import { type Attachment, connect, type Session } from "../../../../src/client/index.ts";
import { type Fault, FaultProxy, type Plan } from "../../../support/fault-proxy.ts";
import { randomOf, streamAt } from "./echo-stream.ts";

/** A server that can be killed and restarts with its sessions, such as `CrashingServer`. */
export interface MortalServer {
	readonly url: string;
	token(): Promise<string>;
	start(): Promise<void>;
	kill(): Promise<void>;
}

/** Where a client attaches, and its random seed. */
export type Task = { readonly url: string; readonly token: string; readonly id: string; readonly seed: number };

/** A client that sends, and checks what comes back. */
export interface Echo {
	readonly connections: number;
	readonly sent: number;
	readonly received: number;
	readonly resizes: number;
	/** Ends after `stop` once everything sent has come back. Throws on the first error. */
	run(): Promise<void>;
	stop(): void;
	close(): Promise<void>;
}

export type TortureOptions = {
	readonly server: MortalServer;
	/** Which client. Default: the SDK. */
	readonly echo?: (task: Task) => Echo;
	readonly seed: number;
	/** The number of connections to break. */
	readonly cuts: number;
	/** The number of times the server is killed meanwhile. */
	readonly kills: number;
};

export type TortureResult = {
	/** Bytes sent and received, each checked against the expected stream. */
	readonly sent: number;
	readonly received: number;
	readonly resizes: number;
	readonly faults: Readonly<Record<Fault, number>>;
	readonly kills: number;
	readonly connections: number;
	/** The number of reconnects of an attachment. */
	readonly reconnects: number;
	readonly ms: number;
};

const READY = "READY";
const CUT_BYTES = { least: 200, most: 8_000 };
/** The most bytes in flight: enough that every cut is in the middle of something, in both directions. */
const AHEAD_BYTES = 64 * 1024;
/** The longest occasional pause of the reader. */
const DAWDLE_MS = 10;
/** Short, because one connection in fifty falls silent, and every one is cut. */
export const TIMES = { connectMs: 1_000, pingMs: 100, deadMs: 400, firstRetryMs: 1, lastRetryMs: 20 };

export async function torture({
	server,
	seed,
	cuts,
	kills,
	echo: start = echoOfSdk,
}: TortureOptions): Promise<TortureResult> {
	const startedAt = performance.now();
	const random = randomOf(seed);
	const proxy: FaultProxy = new FaultProxy({
		target: () => new URL(server.url),
		plan: () => (proxy.total < cuts ? planOf(random) : undefined),
	});
	await proxy.start();
	const token = await server.token();
	const direct = connect({ url: server.url, token });
	const { id } = await direct.sessions.create({ command: `stty raw -echo; printf ${READY}; exec cat` });
	await direct.sessions.at(id).wait({ match: new RegExp(READY) });

	const echo = start({ url: proxy.url, token, id, seed: seed + 1 });
	try {
		const running = echo.run();
		// A failure must not wait for cuts that it prevents.
		await Promise.race([running, strike({ server, proxy, cuts, kills, random })]);
		echo.stop();
		await running;
	} finally {
		await echo.close();
		await direct.sessions.at(id).remove();
		await proxy.close();
	}
	const ms = performance.now() - startedAt;
	const { sent, received, resizes } = echo;
	const reconnects = echo.connections - 1;
	return { sent, received, resizes, faults: proxy.counts, kills, connections: proxy.connections, reconnects, ms };
}

/** Breaks every connection, mostly plainly, sometimes so that only a timeout reveals it. */
function planOf(random: (below: number) => number): Plan {
	const dice = random(100);
	const fault = dice < 70 ? "cut" : dice < 85 ? "reset" : dice < 92 ? "delay" : dice < 98 ? "dribble" : "blackhole";
	const afterBytes = CUT_BYTES.least + random(CUT_BYTES.most - CUT_BYTES.least);
	return { fault, direction: random(2) === 0 ? "up" : "down", afterBytes };
}

type Strike = Pick<TortureOptions, "server" | "cuts" | "kills"> & {
	readonly proxy: FaultProxy;
	readonly random: (below: number) => number;
};

/** Resolves once all connections were broken, with the server killed at random ones of them. */
async function strike({ server, proxy, cuts, kills, random }: Strike): Promise<void> {
	const moments = Array.from({ length: kills }, () => random(cuts)).sort((a, b) => a - b);
	for (const moment of [...moments, cuts]) {
		await proxy.until(moment);
		if (proxy.total >= cuts) break;
		await server.kill();
		await server.start();
	}
}

function echoOfSdk({ url, token, id, seed }: Task): Echo {
	return new SdkEcho(connect({ url, token, times: TIMES }).sessions.at(id), randomOf(seed));
}

class SdkEcho implements Echo {
	readonly #attachment: Attachment;
	readonly #random: (below: number) => number;
	connections = 0;
	sent = 0;
	received = 0;
	/** The sizes requested and the sizes reported. */
	resizes = 0;
	#resized = 0;
	#isStopping = false;
	#wake: (() => void) | undefined;
	#onConnected: (() => void) | undefined;

	constructor(session: Session, random: (below: number) => number) {
		this.#random = random;
		this.#attachment = session.attach({ onConnection: ({ state }) => state === "connected" && this.#connected() });
	}

	stop(): void {
		this.#isStopping = true;
		this.#wake?.();
	}

	async run(): Promise<void> {
		const reading = this.#read();
		await Promise.race([reading, this.#write()]);
		await reading;
	}

	async close(): Promise<void> {
		await this.#attachment.detach();
	}

	#connected(): void {
		this.connections++;
		this.#onConnected?.();
	}

	async #write(): Promise<void> {
		const writes: Promise<void>[] = [];
		while (!this.#isStopping) {
			while (this.sent - this.received < AHEAD_BYTES && !this.#isStopping) {
				const bytes = streamAt(this.sent, 1 + this.#random(4_096));
				this.sent += bytes.length;
				writes.push(this.#attachment.write(bytes));
				if (this.#random(16) === 0) writes.push(this.#attachment.resize(sizeOf(this.resizes++)));
			}
			// If the reader finds an error, that error is reported.
			for (const write of writes) write.catch(() => {});
			await Promise.all(writes.splice(0, writes.length / 2));
			if (this.sent - this.received >= AHEAD_BYTES) await this.#progress();
		}
		await Promise.all(writes);
	}

	async #read(): Promise<void> {
		let skip = READY.length;
		while (!this.#isStopping || this.received < this.sent || this.#resized < this.resizes) {
			// So that connections also break, and resend, while received bytes are unread.
			if (this.#random(8) === 0) await this.#dawdle();
			const { value, done } = await this.#attachment.next();
			if (done) throw new Error("the session ended");
			if (value.kind === "gap") throw new Error(`bytes ${value.from} to ${value.to} are gone: ${value.reason}`);
			if (value.kind === "resized") this.#check(value);
			if (value.kind !== "output") continue;
			const bytes = value.bytes.subarray(skip);
			skip = Math.max(0, skip - value.bytes.byteLength);
			if (value.offset + value.bytes.byteLength !== READY.length + this.received + bytes.byteLength) {
				throw new Error(`output at ${value.offset} after ${this.received} bytes`);
			}
			if (!streamAt(this.received, bytes.byteLength).equals(bytes)) {
				throw new Error(`output differs after byte ${this.received}`);
			}
			this.received += bytes.byteLength;
			if (this.received > this.sent) throw new Error(`${this.received} bytes came back of ${this.sent} sent`);
			this.#wake?.();
		}
	}

	/** Reads on with the next connection, or after a pause. */
	#dawdle(): Promise<void> {
		return new Promise((resolve) => {
			const timer = setTimeout(resolve, DAWDLE_MS);
			this.#onConnected = () => {
				clearTimeout(timer);
				resolve();
			};
		});
	}

	#check(size: { cols: number; rows: number }): void {
		const { cols, rows } = sizeOf(this.#resized++);
		if (size.cols !== cols || size.rows !== rows) {
			throw new Error(`size ${size.cols}x${size.rows} where ${cols}x${rows} is due`);
		}
	}

	#progress(): Promise<void> {
		return new Promise((resolve) => {
			this.#wake = resolve;
		});
	}
}

/** A size that encodes its number. */
function sizeOf(number: number): { cols: number; rows: number } {
	return { cols: 1 + (number % 60_000), rows: 1 + Math.floor(number / 60_000) };
}
