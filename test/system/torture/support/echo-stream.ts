/**
 * An endless pseudo-random stream through a raw `cat` and back over HTTP, while the server is killed and restarted.
 * Checks continuously that no input or output is lost, duplicated or reordered.
 */

import { createCipheriv } from "node:crypto";
import { Change } from "../../../../src/core/async/change.ts";

/** The bytes of the stream at a position. AES-CTR can generate any part without the rest. */
export function streamAt(position: number, length: number): Buffer {
	const skip = position % 16;
	const counter = Buffer.alloc(16);
	counter.writeBigUInt64BE(BigInt((position - skip) / 16), 8);
	const cipher = createCipheriv("aes-128-ctr", Buffer.alloc(16, 7), counter);
	return cipher.update(Buffer.alloc(skip + length)).subarray(skip);
}

/** A small seeded generator, so that a failure can be reproduced. */
export function randomOf(seed: number): (below: number) => number {
	let state = seed >>> 0;
	return (below) => {
		state = (state + 0x6d2b79f5) >>> 0;
		let mixed = Math.imul(state ^ (state >>> 15), state | 1);
		mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
		return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
	};
}

const READY = "READY";
/** Delay between attempts to reach a killed server, which restarts in about a second. */
const RETRY_MS = 20;

export class EchoStream {
	readonly #where: () => { url: string; token: string };
	readonly #random: (below: number) => number;
	#id = "";
	#sent = 0;
	#received = 0;
	readonly #arrival = new Change();
	#isStopping = false;
	#running: Promise<unknown> | undefined;

	constructor(where: () => { url: string; token: string }, random: (below: number) => number) {
		this.#where = where;
		this.#random = random;
	}

	get id(): string {
		return this.#id;
	}

	get sent(): number {
		return this.#sent;
	}

	get received(): number {
		return this.#received;
	}

	/** Starts the session and both directions. */
	async start(): Promise<void> {
		const command = `stty raw -echo; printf ${READY}; exec cat`;
		const body = JSON.stringify({ command, mode: "pty" });
		const response = await this.#fetch("/v1/sessions", {
			method: "POST",
			body,
			headers: { "content-type": "application/json" },
		});
		if (response.status !== 201) throw new Error(`create: ${response.status} ${await response.text()}`);
		this.#id = ((await response.json()) as { id: string }).id;
		let greeting = "";
		while (greeting.length < READY.length) greeting += (await this.#read(greeting.length)).toString();
		if (greeting !== READY) throw new Error(`unexpected greeting ${greeting}`);
		this.#running = Promise.all([this.#write(), this.#check()]);
		this.#running.catch(() => {});
	}

	/** Waits until this many bytes have come back. Throws on the first error. */
	async reach(received: number): Promise<void> {
		while (this.#received < received) await Promise.race([this.#arrival.wait(), this.#running]);
	}

	/** Stops sending and waits for the last byte to come back. Throws on any error. */
	async finish(): Promise<void> {
		this.#isStopping = true;
		await this.#running;
	}

	async #write(): Promise<void> {
		let position = 0;
		while (!this.#isStopping || position < this.#sent) {
			// Sometimes resends an accepted part, as a client does that never got the answer.
			const from = this.#random(4) === 0 ? Math.max(0, position - this.#random(4096)) : position;
			const bytes = streamAt(from, 1 + this.#random(16 * 1024));
			const end = from + bytes.length;
			// Bytes that may have arrived must come back, whether the answer arrives or not.
			if (!this.#isStopping) this.#sent = Math.max(this.#sent, end);
			const upTo = Math.min(end, this.#sent) - from;
			if (upTo <= 0) {
				position = this.#sent;
				continue;
			}
			const response = await this.#retried(`/v1/sessions/${this.#id}/input`, {
				method: "POST",
				body: bytes.subarray(0, upTo),
				headers: { "content-type": "application/octet-stream", "idempotency-key": `echo:${from}` },
			});
			const { next } = (await response.json()) as { next: number };
			if (next < from + upTo) throw new Error(`input up to ${from + upTo} was answered with next ${next}`);
			position = Math.max(position, from + upTo);
			if (this.#sent - this.#received > 1024 * 1024) await new Promise((resolve) => setImmediate(resolve));
		}
	}

	async #check(): Promise<void> {
		while (!this.#isStopping || this.#received < this.#sent) {
			const bytes = await this.#read(READY.length + this.#received);
			const wanted = streamAt(this.#received, bytes.length);
			if (!bytes.equals(wanted)) throw new Error(`output differs after byte ${this.#received}`);
			this.#received += bytes.length;
			if (this.#received > this.#sent) throw new Error(`${this.#received} bytes came back of ${this.#sent} sent`);
			this.#arrival.happen();
		}
	}

	async #read(since: number): Promise<Buffer> {
		const response = await this.#retried(`/v1/sessions/${this.#id}/output?since=${since}&wait=1000`);
		const gap = response.headers.get("hawser-gap");
		if (gap) throw new Error(`a gap in the output: ${gap}`);
		if (response.headers.get("hawser-offset") !== String(since))
			throw new Error(`asked for ${since}, got ${response.headers.get("hawser-offset")}`);
		return Buffer.from(await response.arrayBuffer());
	}

	/** Repeats a request until a server answers completely. */
	async #retried(path: string, init: RequestInit = {}): Promise<Response> {
		for (;;) {
			try {
				const response = await this.#fetch(path, init);
				const body = await response.arrayBuffer();
				if (response.status === 503) continue;
				if (!response.ok) throw new Error(`${path}: ${response.status} ${Buffer.from(body).toString()}`);
				return new Response(body, { headers: response.headers });
			} catch (error) {
				// Fetch throws a TypeError if there is no server or it died during the answer. Every other error is a
				// finding.
				if (!(error instanceof TypeError)) throw error;
				await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
			}
		}
	}

	#fetch(path: string, init: RequestInit = {}): Promise<Response> {
		const { url, token } = this.#where();
		return fetch(`${url}${path}`, { ...init, headers: { ...init.headers, authorization: `Bearer ${token}` } });
	}
}
