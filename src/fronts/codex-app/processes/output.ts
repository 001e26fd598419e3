/** What becomes of a program's output: it is collected for the answer, told as it comes, or of no interest to the client. */

import { Change } from "../../../core/change.ts";
import type { Capped } from "../../../core/output-cap.ts";
import { changesWithin } from "../../changes-within.ts";
import type { AppLimits } from "../limits.ts";
import type { Wording } from "./wording.ts";

/** A terminal has only the first. */
export type OutputStream = "stdout" | "stderr";

export interface Sink {
	add(stream: OutputStream, output: Capped): void;
	/** What to wait for before more may come; undefined when there is room. */
	room(): Promise<void> | undefined;
	/** Resolves when all of it is where it belongs. */
	flushed(): Promise<void>;
	text(stream: OutputStream): string;
}

/** For a client that wants to be told nothing. */
export const discarded: Sink = { add: () => {}, room: () => undefined, flushed: async () => {}, text: () => "" };

/** As much as an answer can hold; its cap sees to that. */
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
/** Has a character for every byte; the real server guesses among many of its kind. */
const latin = new TextDecoder("windows-1252");

function decodeText(bytes: Uint8Array): string {
	try {
		return utf8.decode(bytes);
	} catch {
		return latin.decode(bytes);
	}
}

type Delta = Capped & { readonly stream: OutputStream };

/** What even the smallest delta costs, so that a program that writes single bytes is held up as well. */
const DELTA_BYTES = 64;

type ToldOptions = {
	readonly limits: AppLimits;
	readonly message: (stream: OutputStream, delta: Capped) => string;
	/** There is something to `take`. */
	readonly happened: (told: Told) => void;
	/** Nothing was taken for so long that the program can't be kept waiting. */
	readonly giveUp: () => void;
	/** Nothing may be told before this. */
	readonly heard?: Promise<void> | undefined;
	/** Aborted when nobody listens any more. */
	readonly signal: AbortSignal;
};

/** Stays a little ahead of what its connection was told, and no more; the program waits then. */
export class Told implements Sink {
	readonly #options: ToldOptions;
	readonly #untold: Delta[] = [];
	#untoldBytes = 0;
	readonly #moved = new Change();
	#mayTell: boolean;

	constructor(options: ToldOptions) {
		this.#options = options;
		this.#mayTell = options.heard === undefined;
		void options.heard?.then(() => {
			this.#mayTell = true;
			options.happened(this);
		});
	}

	add(stream: OutputStream, { bytes, capReached }: Capped): void {
		const { deltaBytes } = this.#options.limits;
		for (let from = 0; from === 0 || from < bytes.byteLength; from += deltaBytes) {
			const piece = bytes.subarray(from, from + deltaBytes);
			const isLast = from + deltaBytes >= bytes.byteLength;
			const delta = { stream, bytes: piece, capReached: capReached && isLast };
			this.#untold.push(delta);
			this.#untoldBytes += weight(delta);
		}
		this.#options.happened(this);
	}

	/** The next message for the connection. */
	take(): string | undefined {
		const delta = this.#mayTell ? this.#untold.shift() : undefined;
		if (!delta) return undefined;
		this.#untoldBytes -= weight(delta);
		this.#moved.happen();
		return this.#options.message(delta.stream, delta);
	}

	room(): Promise<void> | undefined {
		return this.#isFull() ? this.#caughtUp() : undefined;
	}

	async flushed(): Promise<void> {
		const { signal } = this.#options;
		while (this.#untold.length > 0 && !signal.aborted) await this.#moved.next(signal);
	}

	text(): string {
		return "";
	}

	#isFull(): boolean {
		return this.#untoldBytes > this.#options.limits.untoldBytes;
	}

	/** Also after a while, for one more read, so that the reader's hold on the log moves and the core does not give it up. */
	async #caughtUp(): Promise<void> {
		const { limits, signal, giveUp } = this.#options;
		while (this.#isFull() && !signal.aborted) {
			if (await changesWithin(this.#moved, limits.nudgeMs, signal)) continue;
			if (this.#untoldBytes > limits.mostUntoldBytes) giveUp();
			return;
		}
	}
}

function weight({ bytes }: Delta): number {
	return Math.max(bytes.byteLength, DELTA_BYTES);
}

/** Put together by hand: base64 needs no escapes, and to look for them would take longer than all the rest. */
export function deltaMessage({ delta, idMember }: Wording, id: string): ToldOptions["message"] {
	const head = `{"method":"${delta}","params":{"${idMember}":${JSON.stringify(id)},"stream":"`;
	return (stream, { bytes, capReached }) =>
		`${head}${stream}","deltaBase64":"${toBase64(bytes)}","capReached":${capReached}},"emittedAtMs":${Date.now()}}`;
}

function toBase64({ buffer, byteOffset, byteLength }: Uint8Array): string {
	return Buffer.from(buffer, byteOffset, byteLength).toString("base64");
}
