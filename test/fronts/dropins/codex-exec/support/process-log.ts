/** A client's view of one process: its events in order, by the rules that the Rust client enforces (contract §9). */

import { Change } from "../../../../../src/core/async/change.ts";

export type ProcessEvent =
	| { readonly kind: "output"; readonly seq: number; readonly stream: string; readonly text: string }
	| {
			readonly kind: "exited";
			readonly seq: number;
			readonly exitCode: number | null;
			readonly sandboxDenied?: true;
	  }
	| { readonly kind: "closed"; readonly seq: number };

export type ReadAnswer = {
	readonly chunks: readonly { readonly seq: number; readonly stream: string; readonly chunk: string }[];
	readonly nextSeq: number;
	readonly exited: boolean;
	readonly exitCode: number | null;
	readonly closed: boolean;
	readonly failure: string | null;
	readonly sandboxDenied: boolean;
};

const MAX_CHUNK_BYTES = 1_048_576;
/** The part of a process that the Rust client buffers. */
const MAX_EARLY = 256;
const WAIT_MS = 20_000;

export class ProcessLog {
	readonly events: ProcessEvent[] = [];
	readonly #change = new Change();
	/** Notifications received while a read of earlier events is pending. */
	#early: (() => void)[] | undefined;
	bytes = 0;
	/** Stores only counts, for processes that send more than a test can hold. */
	isCounting = false;

	/** The number of the last event delivered. */
	get last(): number {
		return this.events.at(-1)?.seq ?? 0;
	}

	get isClosed(): boolean {
		return this.events.at(-1)?.kind === "closed";
	}

	get exitCode(): number | null | undefined {
		return this.events.find((event) => event.kind === "exited")?.exitCode;
	}

	get wasDenied(): boolean {
		return this.events.some((event) => event.kind === "exited" && event.sandboxDenied);
	}

	text(stream?: string): string {
		const wanted = this.events.filter((event) => event.kind === "output" && (stream ?? event.stream) === event.stream);
		return wanted.map((event) => Buffer.from((event as { text: string }).text, "latin1").toString()).join("");
	}

	/** One notification. Ours come in order without gaps, which is more than the Rust client requires. */
	notified(method: string, params: Record<string, unknown>): void {
		const { seq } = params as { seq: number };
		if (!Number.isInteger(seq) || seq < 1) throw new Error(`seq ${seq}`);
		// Events already recovered may arrive again.
		if (seq <= this.last) return;
		if (this.#early) {
			this.#early.push(() => this.notified(method, params));
			if (this.#early.length > MAX_EARLY) throw new Error(`more than ${MAX_EARLY} events before the read`);
			return;
		}
		if (seq !== this.last + 1) throw new Error(`${method} ${seq} after ${this.last}`);
		this.#add(decode(method, params));
	}

	/** The connection was lost: notifications from now on may follow events that only a read returns. */
	recovering(): void {
		this.#early = [];
	}

	/** The events of a read after a lost connection: every number up to the next one must be accounted for. */
	recovered(answer: ReadAnswer): void {
		const target = answer.nextSeq - 1;
		const chunks = new Map(answer.chunks.map((chunk) => [chunk.seq, chunk]));
		const knowsExit = this.exitCode !== undefined;
		const isOpen = (seq: number) => !chunks.has(seq) && !(answer.closed && seq === target);
		for (const seq of chunks.keys()) {
			if (seq > target || (answer.closed && seq === target)) throw new Error(`chunk ${seq} beyond ${target}`);
		}
		let holes = 0;
		for (let seq = this.last + 1; seq <= target; seq++) {
			const chunk = chunks.get(seq);
			if (chunk) this.#add(output(chunk));
			else if (!isOpen(seq)) this.#add({ kind: "closed", seq });
			else if (answer.exited && !knowsExit && holes++ === 0)
				this.#add({ kind: "exited", seq, exitCode: answer.exitCode });
			else throw new Error(`event ${seq} of ${target} is missing: the retained window has lost it`);
		}
		const early = this.#early ?? [];
		this.#early = undefined;
		for (const tell of early) tell();
	}

	/** Resolves once the received events are sufficient. */
	async until(isEnough: (log: ProcessLog) => boolean): Promise<this> {
		const signal = AbortSignal.timeout(WAIT_MS);
		while (!isEnough(this)) {
			if (signal.aborted) throw new Error(`timed out; received ${JSON.stringify(this.events).slice(0, 2000)}`);
			await this.#change.wait(signal);
		}
		return this;
	}

	closed(): Promise<this> {
		return this.until((log) => log.isClosed);
	}

	output(text: string): Promise<this> {
		return this.until((log) => log.text().includes(text));
	}

	#add(event: ProcessEvent): void {
		if (this.isClosed) throw new Error(`${event.kind} after closed`);
		if (event.kind === "exited" && this.exitCode !== undefined) throw new Error("exited twice");
		if (event.kind === "output") this.bytes += event.text.length;
		if (this.isCounting) this.events.length = 0;
		this.events.push(event);
		this.#change.happen();
	}
}

function decode(method: string, params: Record<string, unknown>): ProcessEvent {
	const { seq, exitCode, sandboxDenied } = params as { seq: number; exitCode: number; sandboxDenied: boolean };
	switch (method) {
		case "process/output":
			return output(params as { seq: number; stream: string; chunk: string });
		case "process/exited":
			if (!Number.isInteger(exitCode) || typeof sandboxDenied !== "boolean") throw new Error(JSON.stringify(params));
			return { kind: "exited", seq, exitCode, ...(sandboxDenied ? { sandboxDenied } : {}) };
		case "process/closed":
			return { kind: "closed", seq };
		default:
			throw new Error(`unknown notification ${method}`);
	}
}

function output({ seq, stream, chunk }: { seq: number; stream: string; chunk: string }): ProcessEvent {
	const bytes = Buffer.from(chunk, "base64");
	if (bytes.toString("base64") !== chunk) throw new Error("bad base64");
	if (bytes.length === 0 || bytes.length > MAX_CHUNK_BYTES) throw new Error(`a chunk of ${bytes.length} bytes`);
	if (!["stdout", "stderr", "pty"].includes(stream)) throw new Error(`stream ${stream}`);
	return { kind: "output", seq, stream, text: bytes.toString("latin1") };
}
