/** Standard input and output as the only connection: one message per line. */

import { isUtf8 } from "node:buffer";
import { setMaxListeners } from "node:events";
import type { Readable, Writable } from "node:stream";
import { Change } from "../../core/async/change.ts";
import type { CallerIdentity } from "../../core/policy/access.ts";
import type { Receiver, RpcWire } from "./wire.ts";

export type Stdio = { readonly input: Readable; readonly output: Writable };

/** The client is the process that started this server, and has all rights. */
export const stdioBearer: CallerIdentity = {
	id: "stdio",
	account: "stdio",
	name: "stdio",
	gate: null,
	revoked: new AbortController().signal,
	may: () => true,
};

const NEWLINE = 0x0a;
/** JSON whitespace except newlines. Includes the carriage return before a newline. */
const blank: ReadonlySet<number> = new Set(Buffer.from(" \t\r"));

/** Passes each line to the receiver until the input ends or the client breaks off. */
export function openStdio({ input, output }: Stdio, maxBytes: number, connect: (wire: RpcWire) => Receiver): RpcWire {
	const wire = new StdioWire(input, output);
	const receiver = connect(wire);
	const lines = new LineSplitter(maxBytes);
	const receive = (line: Buffer) => {
		// Invalid UTF-8 means that the client does not speak this protocol.
		if (!isUtf8(line)) wire.close();
		else if (!wire.ended.aborted) receiver.receive(line);
	};
	input.on("data", (bytes: Buffer) => {
		for (const line of lines.add(bytes)) receive(line);
		if (lines.isTooLong) wire.close();
	});
	input.on("end", () => {
		for (const line of lines.end()) receive(line);
		// The last line need not end in a newline. Requests that can be answered at once still are.
		setImmediate(() => wire.close());
	});
	for (const end of ["close", "error"])
		input.on(end, () => {
			if (!input.readableEnded) wire.close();
		});
	// A client that stopped reading has gone, like one that closed its side.
	output.on("error", () => wire.close());
	// Streams that ended before we listened do not emit again.
	if (input.destroyed || output.destroyed) wire.close();
	return wire;
}

/** Splits bytes into lines. */
export class LineSplitter {
	readonly #maxBytes: number;
	#pieces: Buffer[] = [];
	#bytes = 0;

	constructor(maxBytes: number) {
		this.#maxBytes = maxBytes;
	}

	/** Whether the current line is longer than allowed. */
	get isTooLong(): boolean {
		return this.#bytes > this.#maxBytes;
	}

	/** The complete lines, without newlines and blank lines. */
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

	/** The last line, if it has no newline. */
	*end(): Generator<Buffer, void, void> {
		yield* this.add(Buffer.of(NEWLINE));
	}

	#keep(piece: Buffer): void {
		this.#bytes += piece.byteLength;
		this.#pieces.push(piece);
	}
}

class StdioWire implements RpcWire {
	readonly taken: Change = new Change();
	readonly #happen = () => this.taken.happen();
	readonly #input: Readable;
	readonly #output: Writable;
	readonly #ended = new AbortController();

	constructor(input: Readable, output: Writable) {
		this.#input = input;
		this.#output = output;
		// Each pending request adds a listener: many are not a leak.
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

	/** No limit: the only client may use all memory of the server. */
	keep(): void {}

	pause(): void {
		this.#input.pause();
	}

	resume(): void {
		this.#input.resume();
	}

	/** Not needed: no other client can want this one's session. */
	probe(): void {}

	close(): void {
		if (this.ended.aborted) return;
		this.#ended.abort();
		this.#input.destroy();
	}
}
