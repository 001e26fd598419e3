/** Standard input and output as the wire of the only connection there is: one message in each line. */

import { isUtf8 } from "node:buffer";
import { setMaxListeners } from "node:events";
import type { Readable, Writable } from "node:stream";
import { Change } from "../../core/change.ts";
import type { Receiver, Wire } from "./wire.ts";

export type Stdio = { readonly input: Readable; readonly output: Writable };

const NEWLINE = 0x0a;
/** What JSON takes for nothing; a carriage return before the end of a line is among it. */
const blank: ReadonlySet<number> = new Set(Buffer.from(" \t\r"));

/** Delivers what comes, line by line, until the input ends, or whoever is at the other end breaks off. */
export function openStdio({ input, output }: Stdio, maxBytes: number, connect: (wire: Wire) => Receiver): Wire {
	const wire = new StdioWire(input, output);
	const receiver = connect(wire);
	const lines = new Lines(maxBytes);
	const receive = (line: Buffer) => {
		// Who sends that does not speak in lines of text.
		if (!isUtf8(line)) wire.close();
		else if (!wire.ended.aborted) receiver.receive(line);
	};
	input.on("data", (bytes: Buffer) => {
		for (const line of lines.add(bytes)) receive(line);
		if (lines.isTooLong) wire.close();
	});
	input.on("end", () => {
		for (const line of lines.end()) receive(line);
		// The last line need not end, and what can be answered at once is answered.
		setImmediate(() => wire.close());
	});
	for (const end of ["close", "error"])
		input.on(end, () => {
			if (!input.readableEnded) wire.close();
		});
	// Whoever does not read any more has gone, as one who closes its side.
	output.on("error", () => wire.close());
	// What ended before anybody listened does not say so again.
	if (input.destroyed || output.destroyed) wire.close();
	return wire;
}

/** Cuts what comes into lines. */
export class Lines {
	readonly #maxBytes: number;
	#pieces: Buffer[] = [];
	#bytes = 0;

	constructor(maxBytes: number) {
		this.#maxBytes = maxBytes;
	}

	/** Whether the line that has begun is longer than any may be. */
	get isTooLong(): boolean {
		return this.#bytes > this.#maxBytes;
	}

	/** The lines that are complete now, without their ends; blank ones are left out. */
	*add(bytes: Buffer): Generator<Buffer, void, void> {
		let from = 0;
		for (let end = bytes.indexOf(NEWLINE); end >= 0; end = bytes.indexOf(NEWLINE, from)) {
			this.#keep(bytes.subarray(from, end));
			from = end + 1;
			if (this.isTooLong) return;
			const line = Buffer.concat(this.#pieces);
			this.#pieces = [];
			this.#bytes = 0;
			if (line.some((byte) => !blank.has(byte))) yield line;
		}
		this.#keep(bytes.subarray(from));
	}

	/** What is left when no more comes: a line without an end. */
	*end(): Generator<Buffer, void, void> {
		yield* this.add(Buffer.of(NEWLINE));
	}

	#keep(piece: Buffer): void {
		this.#bytes += piece.byteLength;
		this.#pieces.push(piece);
	}
}

class StdioWire implements Wire {
	readonly taken: Change = new Change();
	readonly #happen = () => this.taken.happen();
	readonly #input: Readable;
	readonly #output: Writable;
	readonly #ended = new AbortController();

	constructor(input: Readable, output: Writable) {
		this.#input = input;
		this.#output = output;
		// Every request that waits listens to it, so that many are no sign of a leak.
		setMaxListeners(0, this.#ended.signal);
	}

	get ended(): AbortSignal {
		return this.#ended.signal;
	}

	get bufferedBytes(): number {
		return this.#output.writableLength;
	}

	send(text: string): void {
		if (this.ended.aborted) return;
		this.#output.write(`${text}\n`, this.#happen);
	}

	/** The only client has all of the server's memory for itself. */
	keep(): void {}

	pause(): void {
		this.#input.pause();
	}

	resume(): void {
		this.#input.resume();
	}

	/** Nobody else can want its session. */
	probe(): void {}

	close(): void {
		if (this.ended.aborted) return;
		this.#ended.abort();
		this.#input.destroy();
	}
}
