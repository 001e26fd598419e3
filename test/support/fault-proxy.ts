/** A proxy on loopback or a Unix socket that injects network faults into connections from a seed, and counts them. */

import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";

/** How a connection ends, or what happens before it is cut. */
export const faults = ["cut", "reset", "blackhole", "delay", "dribble"] as const;
export type Fault = (typeof faults)[number];

/** Applied to one connection after this many bytes in one direction. */
export type Plan = {
	readonly fault: Fault;
	/** Up is from the client to the server. */
	readonly direction: "up" | "down";
	readonly afterBytes: number;
};

export type FaultProxyOptions = {
	/** A URL or a path. Resolved for each connection, because a server may restart elsewhere. */
	readonly target: () => URL | string;
	/** The path to listen on. Default: a free port. */
	readonly path?: string;
	/** Undefined leaves a connection intact. */
	readonly plan: () => Plan | undefined;
};

/** How long a delayed part is held back. */
const DELAY_MS = 20;

export class FaultProxy {
	readonly counts: Record<Fault, number> = { cut: 0, reset: 0, blackhole: 0, delay: 0, dribble: 0 };
	readonly #options: FaultProxyOptions;
	readonly #server: Server;
	readonly #sockets = new Set<Socket>();
	#connections = 0;
	#waiting: { readonly total: number; resolve(): void }[] = [];

	constructor(options: FaultProxyOptions) {
		this.#options = options;
		this.#server = createServer({ noDelay: true }, (client) => this.#join(client));
	}

	get url(): string {
		return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
	}

	get connections(): number {
		return this.#connections;
	}

	/** The number of open sockets on both sides. */
	get open(): number {
		return this.#sockets.size;
	}

	/** The number of connections that a fault has ended or is ending. */
	get total(): number {
		return Object.values(this.counts).reduce((sum, count) => sum + count, 0);
	}

	/** Resolves once there were this many. */
	until(total: number): Promise<void> {
		return new Promise((resolve) => {
			this.#waiting.push({ total, resolve });
			this.#tell();
		});
	}

	async start(): Promise<void> {
		const { path } = this.#options;
		if (path === undefined) this.#server.listen(0, "127.0.0.1");
		else this.#server.listen(path);
		await once(this.#server, "listening");
	}

	/** Closes every open connection. */
	cutAll(): void {
		for (const socket of this.#sockets) socket.destroy();
	}

	async close(): Promise<void> {
		this.cutAll();
		this.#server.close();
		await once(this.#server, "close");
	}

	#join(client: Socket): void {
		this.#connections++;
		const target = this.#options.target();
		const server = connect(
			typeof target === "string"
				? { path: target }
				: { port: Number(target.port), host: target.hostname, noDelay: true },
		);
		const pair = new Pair(client, server, this.#options.plan(), (fault) => {
			this.counts[fault]++;
			this.#tell();
		});
		for (const socket of [client, server]) {
			this.#sockets.add(socket);
			// A fault on one side also applies to the other.
			socket.on("error", () => pair.end());
			socket.on("close", () => {
				this.#sockets.delete(socket);
				pair.end();
			});
		}
	}

	#tell(): void {
		for (const { resolve } of this.#waiting.filter(({ total }) => total <= this.total)) resolve();
		this.#waiting = this.#waiting.filter(({ total }) => total > this.total);
	}
}

/** The two ends of one proxied connection. */
class Pair {
	readonly #client: Socket;
	readonly #server: Socket;
	readonly #plan: Plan | undefined;
	readonly #count: (fault: Fault) => void;
	#passed = { up: 0, down: 0 };
	#isBlack = false;

	constructor(client: Socket, server: Socket, plan: Plan | undefined, count: (fault: Fault) => void) {
		this.#client = client;
		this.#server = server;
		this.#plan = plan;
		this.#count = count;
		this.#forward("up", client, server).catch(() => this.end());
		this.#forward("down", server, client).catch(() => this.end());
	}

	end(): void {
		this.#client.destroy();
		this.#server.destroy();
	}

	async #forward(direction: "up" | "down", from: Socket, to: Socket): Promise<void> {
		for await (const bytes of from as AsyncIterable<Buffer>) {
			if (this.#isBlack) continue;
			const plan = this.#plan?.direction === direction ? this.#plan : undefined;
			const left = plan ? Math.max(0, plan.afterBytes - this.#passed[direction]) : bytes.length;
			this.#passed[direction] += bytes.length;
			await write(to, bytes.subarray(0, left));
			if (!plan || bytes.length <= left) continue;
			this.#count(plan.fault);
			await this.#fail(plan.fault, to, bytes.subarray(left));
		}
		to.end();
	}

	async #fail(fault: Fault, to: Socket, rest: Buffer): Promise<void> {
		switch (fault) {
			case "blackhole":
				// In both directions and silently: only a timeout can detect it.
				this.#isBlack = true;
				return;
			case "reset":
				this.#client.resetAndDestroy();
				this.#server.resetAndDestroy();
				return;
			case "delay":
				await new Promise((resolve) => setTimeout(resolve, DELAY_MS));
				await write(to, rest);
				break;
			case "dribble":
				for (const byte of rest.subarray(0, 256)) await write(to, Buffer.of(byte));
				break;
			case "cut":
		}
		this.end();
	}
}

async function write(to: Socket, bytes: Buffer): Promise<void> {
	if (bytes.length === 0) return;
	await new Promise<void>((resolve, reject) => to.write(bytes, (error) => (error ? reject(error) : resolve())));
}
