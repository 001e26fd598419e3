/**
 * When TLS is begun: so many times a second, first with whoever has fewest connections that wait for it. A handshake
 * takes several times as long as all else that a stranger can ask for, and without a limit those of one who makes
 * thousands of them would be in the way of everybody who connects.
 */

import type { Server as TlsServer } from "node:https";
import type { Socket } from "node:net";
import { systemClock } from "../backends/clock.ts";
import type { Clock } from "../core/clock.ts";
import { Bucket, type Rate } from "../core/rate.ts";
import { networkOf } from "./connections.ts";

/** A quarter of a processor's time, more or less. */
const DEFAULT_RATE: Rate = { perSecond: 500, burst: 50 };

/** Has a server, which must not read from connections by itself (`pauseOnConnect`), begin TLS in that order. */
export function beginInTurn(server: TlsServer, rate: Rate = DEFAULT_RATE): void {
	const [begin, ...others] = server.listeners("connection");
	if (!begin || others.length > 0) throw new Error("invariant: a TLS server begins TLS when it hears of a connection");
	server.removeAllListeners("connection");
	const handshakes = new Handshakes((connection) => begin.call(server, connection), rate);
	server.on("connection", (connection: Socket) => handshakes.add(connection));
}

/** How many wait is limited by how many connections a port takes in: those that give way are closed. */
export class Handshakes {
	readonly #begin: (connection: Socket) => void;
	readonly #bucket: Bucket;
	readonly #clock: Clock;
	/** By network; of each, oldest first. */
	readonly #waiting = new Map<string, Set<Socket>>();
	#isTimed = false;

	constructor(begin: (connection: Socket) => void, rate: Rate, clock: Clock = systemClock) {
		this.#begin = begin;
		this.#bucket = new Bucket(rate, clock);
		this.#clock = clock;
	}

	add(connection: Socket): void {
		const { remoteAddress } = connection;
		// Gone before anybody looked.
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

	/** The newest of the network that has fewest: the oldest may have given up, and is the first to give way. */
	#next(): [network: string, connection: Socket] | undefined {
		let [network, fewest] = ["", new Set<Socket>()];
		for (const [other, sockets] of this.#waiting) {
			if (fewest.size === 0 || sockets.size < fewest.size) [network, fewest] = [other, sockets];
		}
		const newest = [...fewest].at(-1);
		return newest && [network, newest];
	}
}
