/** Standard input and output as the wire of the only connection there is: one message in each line. */

import { setMaxListeners } from "node:events";
import type { Readable, Writable } from "node:stream";
import type { ExecServer } from "./exec-server.ts";
import type { Wire } from "./rpc/wire.ts";

export type Stdio = { readonly input: Readable; readonly output: Writable };

const NEWLINE = 0x0a;
/** What JSON takes for nothing; a carriage return before the end of a line is among it. */
const blank: ReadonlySet<number> = new Set(Buffer.from(" \t\r"));

/** Serves one client until it ends its input or breaks off; then everything it started is ended too. */
export async function serveStdio(server: ExecServer, { input, output }: Stdio): Promise<void> {
	const wire = new StdioWire(input, output);
	const principal = { id: "stdio", countCreation: () => 0 };
	const connection = server.connect(wire, { principal, source: "JSON-RPC message from exec-server stdio" });
	const lines = new Lines(server.limits.messageBytes);
	input.on("data", (bytes: Buffer) => {
		for (const line of lines.add(bytes)) connection.receive(line);
		if (lines.isTooLong) wire.close();
	});
	for (const end of ["end", "close", "error"]) input.on(end, () => wire.close());
	// Whoever does not read any more has gone, as one who closes its side.
	output.on("error", () => wire.close());
	if (!wire.ended.aborted)
		await new Promise((resolve) => wire.ended.addEventListener("abort", resolve, { once: true }));
	await server.close();
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

	#keep(piece: Buffer): void {
		this.#bytes += piece.byteLength;
		this.#pieces.push(piece);
	}
}

class StdioWire implements Wire {
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

	send(text: string, taken?: () => void): void {
		if (this.ended.aborted) return;
		this.#output.write(`${text}\n`, () => taken?.());
	}

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
