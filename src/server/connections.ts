/**
 * Who is connected to a port, and who gives way when it is full.
 *
 * A connection is a stranger's until a request on it is let in. Strangers have a quarter of all places, so that
 * they can't take those of others; when theirs are full, the oldest goes of the network that has most, because the
 * newest may be somebody with a right to be here who has not said so yet. Of the others, whoever has most gives way.
 */

import { readdirSync } from "node:fs";
import { isIPv6, type Socket } from "node:net";
import type { Duplex } from "node:stream";
import { openFilesOf } from "../backends/inherited.ts";
import type { Principal } from "../core/access.ts";
import { SessionError } from "../core/errors.ts";

const STRANGERS_SHARE = 0.25;
/** What connections may have of the descriptors that are left; sessions, and whatever else is opened, need the others. */
const DESCRIPTORS_SHARE = 0.5;

type Entry = {
	readonly tcp: Socket;
	/** What requests come over: the TCP connection, or TLS on it. */
	carrier: Duplex;
	pool: Pool;
	/** A network, or the account of a principal. */
	owner: string;
};

/** How many connections there may be at a port, so that a server that may open few files has some for all else it does. */
export function placesWithin(wanted: number): number {
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

	/** `isIdle` says whether nothing is under way on a connection. */
	constructor(max: number, isIdle: (connection: Duplex) => boolean) {
		this.#isIdle = isIdle;
		const strangers = Math.max(1, Math.floor(max * STRANGERS_SHARE));
		this.#strangers = new Pool(strangers);
		this.#known = new Pool(Math.max(1, max - strangers));
	}

	/** Takes in a connection that was just made. */
	add(tcp: Socket): void {
		const name = nameOf(tcp);
		if (name === undefined) {
			// It was gone before anybody looked.
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

	/** Somebody was let in on a connection. Throws `limit_exceeded` if there is no place for one more of theirs. */
	recognise(carrier: Duplex, { account }: Pick<Principal, "account">): void {
		const name = nameOf(carrier as Partial<Socket>);
		const entry = name === undefined ? undefined : this.#entries.get(name);
		// What did not come by the port is not counted here.
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
			throw new SessionError("limit_exceeded", `this token has ${crowd.length} connections, and all places are taken`, {
				hint: "close some of them, or ask the operator for a higher --max-connections",
			});
		}
		giveWay(leaving);
	}
}

function giveWay(entry: Entry): void {
	entry.tcp.destroy();
	// Now, and not when its end is heard of: others may come in the same turn.
	entry.pool.delete(entry);
}

/** Places for connections, by whose they are. */
class Pool {
	readonly #places: number;
	/** Of each owner, oldest first. */
	readonly #entries = new Map<string, Set<Entry>>();
	#size = 0;

	constructor(places: number) {
		this.#places = places;
	}

	get isFull(): boolean {
		return this.#size >= this.#places;
	}

	countOf(owner: string): number {
		return this.#entries.get(owner)?.size ?? 0;
	}

	/** The connections of whoever has most, oldest first. */
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

/** What one customer is given: an IPv4 address, or the first half of an IPv6 address, of which the other is as they like. */
export function networkOf(address: string): string {
	// Also what is IPv4 in the form of IPv6.
	if (!isIPv6(address) || address.includes(".")) return address;
	const [before = [], after = []] = address.split("::").map((half) => half.split(":").filter((group) => group !== ""));
	const zeros = Array.from({ length: 8 - before.length - after.length }, () => "0");
	return [...before, ...zeros, ...after].slice(0, 4).join(":");
}

/** TLS and the TCP connection below it go by the same name; undefined for what is no TCP, or not any more. */
function nameOf({ remoteAddress, remotePort, localPort }: Partial<Socket>): string | undefined {
	return remotePort === undefined ? undefined : `${remoteAddress} ${remotePort} ${localPort}`;
}
