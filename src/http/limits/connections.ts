/**
 * Counts the connections of a port, and closes one when the port is full.
 *
 * A connection is anonymous until a request on it is authenticated. Anonymous connections may use a quarter of the
 * limit, so that they can't crowd out authenticated ones. When that quarter is full, the oldest connection of the
 * network with the most is closed, because the newest may be about to authenticate. When the authenticated share is
 * full, a connection of the account with the most is closed.
 */

import { readdirSync } from "node:fs";
import { isIPv6, type Socket } from "node:net";
import type { Duplex } from "node:stream";
import { openFilesOf } from "../../backends/inherited-limits.ts";
import { SessionError } from "../../core/errors.ts";
import type { Principal } from "../../core/policy/access.ts";

const STRANGERS_SHARE = 0.25;
/** Share of the remaining file descriptors that connections may use. Sessions and files need the rest. */
const DESCRIPTORS_SHARE = 0.5;

type Entry = {
	readonly tcp: Socket;
	/** The stream that requests arrive on: the TCP connection, or TLS on it. */
	carrier: Duplex;
	pool: Pool;
	/** A network for anonymous connections, an account for authenticated ones. */
	owner: string;
};

/** The connection limit of a port, lowered if the process may not open enough files. */
export function connectionLimit(wanted: number): number {
	const limit = openFilesOf("self")?.soft;
	if (limit === undefined) return wanted;
	const left = limit - readdirSync("/proc/self/fd").length;
	return Math.max(1, Math.min(wanted, Math.floor(left * DESCRIPTORS_SHARE)));
}

export class Connections {
	readonly #isIdle: (connection: Duplex) => boolean;
	readonly #entries = new Map<string, Entry>();
	readonly #strangers: Pool;
	readonly #known: Pool;

	/** `isIdle` tells whether no request is in progress on a connection. */
	constructor(max: number, isIdle: (connection: Duplex) => boolean) {
		this.#isIdle = isIdle;
		const strangers = Math.max(1, Math.floor(max * STRANGERS_SHARE));
		this.#strangers = new Pool(strangers);
		this.#known = new Pool(Math.max(1, max - strangers));
	}

	add(tcp: Socket): void {
		const name = nameOf(tcp);
		if (name === undefined) {
			// The connection closed before its event was handled.
			tcp.destroy();
			return;
		}
		const [oldest] = this.#strangers.isFull ? this.#strangers.mostOfOne() : [];
		if (oldest) giveWay(oldest);
		const entry: Entry = { tcp, carrier: tcp, pool: this.#strangers, owner: networkOf(tcp.remoteAddress ?? "") };
		entry.pool.add(entry);
		this.#entries.set(name, entry);
		tcp.once("close", () => {
			entry.pool.delete(entry);
			if (this.#entries.get(name) === entry) this.#entries.delete(name);
		});
	}

	/** Moves a connection to the authenticated pool. Throws `limit_exceeded` if the account may have no more. */
	recognise(carrier: Duplex, { account }: Pick<Principal, "account">): void {
		const name = nameOf(carrier as Partial<Socket>);
		const entry = name === undefined ? undefined : this.#entries.get(name);
		// Connections that did not arrive at the port are not counted.
		if (!entry || entry.pool === this.#known) return;
		if (this.#known.isFull) this.#makeRoom(account);
		entry.pool.delete(entry);
		Object.assign(entry, { carrier, pool: this.#known, owner: account });
		entry.pool.add(entry);
	}

	#makeRoom(newcomer: string): void {
		const crowd = [...this.#known.mostOfOne()];
		const isOwn = this.#known.countOf(newcomer) >= crowd.length;
		const idle = crowd.find(({ carrier }) => this.#isIdle(carrier));
		const leaving = isOwn ? idle : (idle ?? crowd[0]);
		if (!leaving) {
			throw new SessionError(
				"limit_exceeded",
				`this token has ${crowd.length} connections, and the server's limit is reached`,
				{
					hint: "close some, or ask the operator for a higher --max-connections",
				},
			);
		}
		giveWay(leaving);
	}
}

function giveWay(entry: Entry): void {
	entry.tcp.destroy();
	// Now, not on `close`: another connection may arrive in the same turn.
	entry.pool.delete(entry);
}

/** Connections by owner, up to a limit. */
class Pool {
	readonly #limit: number;
	/** Connections by owner, oldest first. */
	readonly #entries = new Map<string, Set<Entry>>();
	#size = 0;

	constructor(limit: number) {
		this.#limit = limit;
	}

	get isFull(): boolean {
		return this.#size >= this.#limit;
	}

	countOf(owner: string): number {
		return this.#entries.get(owner)?.size ?? 0;
	}

	/** The connections of the owner with the most, oldest first. */
	mostOfOne(): ReadonlySet<Entry> {
		let most: ReadonlySet<Entry> = new Set();
		for (const entries of this.#entries.values()) if (entries.size > most.size) most = entries;
		return most;
	}

	add(entry: Entry): void {
		const entries = this.#entries.get(entry.owner) ?? new Set();
		this.#entries.set(entry.owner, entries.add(entry));
		this.#size++;
	}

	delete(entry: Entry): void {
		const entries = this.#entries.get(entry.owner);
		if (!entries?.delete(entry)) return;
		if (entries.size === 0) this.#entries.delete(entry.owner);
		this.#size--;
	}
}

/**
 * The unit that limits count by: an IPv4 address, or the /64 of an IPv6 address, since one customer controls all of it.
 */
export function networkOf(address: string): string {
	// Includes IPv4-mapped IPv6 addresses.
	if (!isIPv6(address) || address.includes(".")) return address;
	const [before = [], after = []] = address.split("::").map((half) => half.split(":").filter((group) => group !== ""));
	const zeros = Array.from({ length: 8 - before.length - after.length }, () => "0");
	return [...before, ...zeros, ...after].slice(0, 4).join(":");
}

/** An address shared by a TLS socket and the TCP connection below it. Undefined for what is not TCP, or is closed. */
function nameOf({ remoteAddress, remotePort, localPort }: Partial<Socket>): string | undefined {
	return remotePort === undefined ? undefined : `${remoteAddress} ${remotePort} ${localPort}`;
}
