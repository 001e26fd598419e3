/** The log of a bash session on its way to one client of its WebSocket, as text. */

import { follow } from "../../../core/cursor.ts";
import { chunksOf } from "../socket/frames.ts";
import { closeCodes, sayExit, type Wire } from "../socket/wire.ts";
import type { BashSession } from "./bash-sessions.ts";
import type { SessionShell } from "./shell.ts";

export class SessionOutput {
	readonly #bash: BashSession;
	readonly #wire: Wire;
	readonly #shell: SessionShell;
	/** A character whose bytes come apart is held back until it is whole. */
	readonly #decoders = {
		stdout: new TextDecoder("utf-8", { ignoreBOM: true }),
		stderr: new TextDecoder("utf-8", { ignoreBOM: true }),
	};
	/** What comes next. */
	#position = 0;

	constructor(bash: BashSession, from: { readonly wire: Wire; readonly shell: SessionShell; readonly total: number }) {
		this.#bash = bash;
		this.#wire = from.wire;
		this.#shell = from.shell;
		this.#move(from.total);
	}

	/** Everything from `since` up to where live begins, which is the offset that the message names. */
	async replay(since: number): Promise<void> {
		const { log } = this.#bash;
		const offset = this.#position;
		if (since >= offset) return;
		let data = "";
		for (const event of log.peek(log.seqAt(since), Number.POSITIVE_INFINITY)) {
			if (event.kind !== "output" || event.offset >= offset) continue;
			const bytes = event.bytes.subarray(Math.max(0, since - event.offset), offset - event.offset);
			data += this.#decoders.stdout.decode(bytes, { stream: true });
		}
		await this.#wire.send(JSON.stringify({ type: "replay", data, offset }));
	}

	/** What comes, until the shell has ended and its last byte was sent, or the connection is over. */
	async run(): Promise<void> {
		const wire = this.#wire;
		const done = new AbortController();
		wire.ended.addEventListener("abort", () => done.abort(), { once: true });
		if (wire.ended.aborted) done.abort();
		void this.#shell.exited(done.signal).then(() => {
			if (this.#isComplete) done.abort();
		});
		for await (const item of follow(this.#bash.log, { offset: this.#position }, { signal: done.signal })) {
			// Runs write into the log, too, and wait for nobody.
			if (item.kind === "gap") wire.close(closeCodes.failed, "output was lost");
			if (item.kind !== "output") continue;
			const type = item.stream === "stderr" ? "stderr" : "stdout";
			for (const chunk of chunksOf(item.bytes)) await this.#send(type, chunk);
			this.#move(item.offset + item.bytes.byteLength);
			if (this.#isComplete) break;
		}
		if (this.#shell.exit && this.#isComplete) await sayExit(wire, this.#shell.exit.code);
	}

	get #isComplete(): boolean {
		return this.#shell.exit !== undefined && this.#position >= this.#shell.exit.end;
	}

	async #send(type: "stdout" | "stderr", bytes: Uint8Array): Promise<void> {
		const data = this.#decoders[type].decode(bytes, { stream: true });
		if (data !== "") await this.#wire.send(JSON.stringify({ type, data, timestamp: Date.now() }));
	}

	#move(position: number): void {
		this.#position = position;
		this.#shell.taken(position);
	}
}
