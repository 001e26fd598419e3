/** Destinations of a program's output: collected for the answer, sent as deltas, or discarded. */

import { Change } from "../../../../core/async/change.ts";
import { nextWithin } from "../../../../core/async/changes-within.ts";
import type { AppLimits } from "../limits.ts";
import type { FamilyText } from "./error-text.ts";
import type { Capped } from "./output-cap.ts";

/** A terminal has only stdout. */
export type OutputStream = "stdout" | "stderr";

export interface Sink {
	add(stream: OutputStream, output: Capped): void;
	/** Waits until more output may be added; undefined if there is room now. */
	room(): Promise<void> | undefined;
	/** Resolves when all output is delivered. */
	flushed(): Promise<void>;
	text(stream: OutputStream): string;
}

/** For a client that opted out of output. */
export const discarded: Sink = { add: () => {}, room: () => undefined, flushed: async () => {}, text: () => "" };

/** Collects output for the answer. The cap limits its size. */
export class Collected implements Sink {
	readonly #pieces = { stdout: [] as Uint8Array[], stderr: [] as Uint8Array[] };

	add(stream: OutputStream, { bytes }: Capped): void {
		this.#pieces[stream].push(bytes);
	}

	room(): undefined {
		return undefined;
	}

	async flushed(): Promise<void> {}

	text(stream: OutputStream): string {
		return decodeText(Buffer.concat(this.#pieces[stream]));
	}
}

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
/** Decodes any bytes. Codex's server guesses among several such encodings. */
const latin = new TextDecoder("windows-1252");

function decodeText(bytes: Uint8Array): string {
	try {
		return utf8.decode(bytes);
	} catch {
		return latin.decode(bytes);
	}
}

type Delta = Capped & { readonly stream: OutputStream };

/** Minimum weight of a delta, so that a program that writes single bytes is slowed down too. */
const DELTA_BYTES = 64;

type DeltaSinkOptions = {
	readonly limits: AppLimits;
	readonly message: (stream: OutputStream, delta: Capped) => string;
	/** A message is ready for `take`. */
	readonly happened: (sink: DeltaSink) => void;
	/** The client read nothing for so long that the output can't wait any longer. */
	readonly giveUp: () => void;
	/** No delta is sent before this resolves. */
	readonly startAnswered?: Promise<void> | undefined;
	/** Aborted when the connection is over. */
	readonly signal: AbortSignal;
};

/** Sends output as deltas. It buffers a limited amount, then the program waits. */
export class DeltaSink implements Sink {
	readonly #options: DeltaSinkOptions;
	readonly #unsent: Delta[] = [];
	#unsentBytes = 0;
	readonly #moved = new Change();
	#maySend: boolean;

	constructor(options: DeltaSinkOptions) {
		this.#options = options;
		this.#maySend = options.startAnswered === undefined;
		void options.startAnswered?.then(() => {
			this.#maySend = true;
			options.happened(this);
		});
	}

	add(stream: OutputStream, { bytes, capReached }: Capped): void {
		const { deltaBytes } = this.#options.limits;
		for (let from = 0; from === 0 || from < bytes.byteLength; from += deltaBytes) {
			const piece = bytes.subarray(from, from + deltaBytes);
			const isLast = from + deltaBytes >= bytes.byteLength;
			const delta = { stream, bytes: piece, capReached: capReached && isLast };
			this.#unsent.push(delta);
			this.#unsentBytes += weight(delta);
		}
		this.#options.happened(this);
	}

	/** The next message for the connection. */
	take(): string | undefined {
		const delta = this.#maySend ? this.#unsent.shift() : undefined;
		if (!delta) return undefined;
		this.#unsentBytes -= weight(delta);
		this.#moved.happen();
		return this.#options.message(delta.stream, delta);
	}

	room(): Promise<void> | undefined {
		return this.#isFull() ? this.#caughtUp() : undefined;
	}

	async flushed(): Promise<void> {
		const { signal } = this.#options;
		while (this.#unsent.length > 0 && !signal.aborted) await this.#moved.wait(signal);
	}

	text(): string {
		return "";
	}

	#isFull(): boolean {
		return this.#unsentBytes > this.#options.limits.unsentBytes;
	}

	/**
	 * Waits for room, but not forever: one more read moves the reader's position, so that the core does not drop the
	 * reader.
	 */
	async #caughtUp(): Promise<void> {
		const { limits, signal, giveUp } = this.#options;
		while (this.#isFull() && !signal.aborted) {
			if (await nextWithin(this.#moved, limits.nudgeMs, signal)) continue;
			if (this.#unsentBytes > limits.maxUnsentBytes) giveUp();
			return;
		}
	}
}

function weight({ bytes }: Delta): number {
	return Math.max(bytes.byteLength, DELTA_BYTES);
}

/** Built by hand: base64 needs no escaping, and JSON.stringify would scan it all. */
export function deltaMessage({ delta, idMember }: FamilyText, id: string): DeltaSinkOptions["message"] {
	const head = `{"method":"${delta}","params":{"${idMember}":${JSON.stringify(id)},"stream":"`;
	return (stream, { bytes, capReached }) =>
		`${head}${stream}","deltaBase64":"${toBase64(bytes)}","capReached":${capReached}},"emittedAtMs":${Date.now()}}`;
}

function toBase64({ buffer, byteOffset, byteLength }: Uint8Array): string {
	return Buffer.from(buffer, byteOffset, byteLength).toString("base64");
}
