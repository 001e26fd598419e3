/**
 * Limits the rate of TLS handshakes, and serves the network with the fewest waiting connections first. A handshake
 * costs several times as much as anything else an anonymous client can request, so thousands from one client would
 * delay everyone.
 */

import type { Server as TlsServer } from "node:https";
import type { Socket } from "node:net";
import { systemClock } from "../backends/system-clock.ts";
import type { Clock } from "../core/async/clock.ts";
import { type Rate, RateLimiter } from "../core/async/rate-limit.ts";
import { networkOf } from "./limits/connections.ts";

/**
 * About a quarter of the time of one processor core.
 * @limit TLS handshakes that begin | the others wait: the address with the fewest is next, and its newest
 */
const DEFAULT_RATE: Rate = { perSecond: 500, burst: 50 };

/** Makes a server begin TLS in that order. The server must be created with `pauseOnConnect`. */
export function limitHandshakes(server: TlsServer, rate: Rate = DEFAULT_RATE): void {
	const [begin, ...others] = server.listeners("connection");
	if (!begin || others.length > 0)
		throw new Error("invariant: a TLS server has one connection listener, which begins TLS");
	server.removeAllListeners("connection");
	const handshakes = new Handshakes((connection) => begin.call(server, connection), rate);
	server.on("connection", (connection: Socket) => handshakes.add(connection));
}

/** The number of waiting connections is limited by the connection limit of the port. */
export class Handshakes {
	readonly #begin: (connection: Socket) => void;
	readonly #bucket: RateLimiter;
	readonly #clock: Clock;
	/** Waiting connections by network, oldest first. */
	readonly #waiting = new Map<string, Set<Socket>>();
	#isTimed = false;

	constructor(begin: (connection: Socket) => void, rate: Rate, clock: Clock = systemClock) {
		this.#begin = begin;
		this.#bucket = new RateLimiter(rate, clock);
		this.#clock = clock;
	}

	add(connection: Socket): void {
		const { remoteAddress } = connection;
		// The connection is closed already.
		if (remoteAddress === undefined) return;
		const network = networkOf(remoteAddress);
		this.#waiting.set(network, (this.#waiting.get(network) ?? new Set()).add(connection));
		connection.once("close", () => this.#leave(network, connection));
		if (!this.#isTimed) this.#run();
	}

	#leave(network: string, connection: Socket): void {
		const same = this.#waiting.get(network);
		if (same?.delete(connection) && same.size === 0) this.#waiting.delete(network);
	}

	#run(): void {
		for (let next = this.#next(); next; next = this.#next()) {
			const waitMs = this.#bucket.take();
			if (waitMs > 0) {
				this.#isTimed = true;
				this.#clock.after(waitMs, () => {
					this.#isTimed = false;
					this.#run();
				});
				return;
			}
			this.#leave(...next);
			this.#begin(next[1]);
		}
	}

	/**
	 * The newest connection of the network with the fewest. The oldest may have given up, and is closed first when the
	 * port is full.
	 */
	#next(): [network: string, connection: Socket] | undefined {
		let [network, fewest] = ["", new Set<Socket>()];
		for (const [other, sockets] of this.#waiting) {
			if (fewest.size === 0 || sockets.size < fewest.size) [network, fewest] = [other, sockets];
		}
		const newest = [...fewest].at(-1);
		return newest && [network, newest];
	}
}
