/** Sends the log of a bash session to one WebSocket client, as text. */

import { follow } from "../../../../core/log/cursor.ts";
import { chunksOf } from "../messages.ts";
import { closeCodes, sendExit, type Wire } from "../wire.ts";
import type { BashSession } from "./bash-sessions.ts";
import type { SessionShell } from "./long-lived-shell.ts";

export class SessionOutput {
	readonly #bash: BashSession;
	readonly #wire: Wire;
	readonly #shell: SessionShell;
	/** A character that spans two chunks is held back until it is complete. */
	readonly #decoders = {
		stdout: new TextDecoder("utf-8", { ignoreBOM: true }),
		stderr: new TextDecoder("utf-8", { ignoreBOM: true }),
	};
	/** Position of the next byte to send. */
	#position = 0;

	constructor(bash: BashSession, from: { readonly wire: Wire; readonly shell: SessionShell; readonly total: number }) {
		this.#bash = bash;
		this.#wire = from.wire;
		this.#shell = from.shell;
		this.#move(from.total);
	}

	/** Sends the output from `since` to the start of the live part; the message names that offset. */
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

	/** Sends live output until the shell has ended and all was sent, or the connection is over. */
	async run(): Promise<void> {
		const wire = this.#wire;
		const done = new AbortController();
		wire.ended.addEventListener("abort", () => done.abort(), { once: true });
		if (wire.ended.aborted) done.abort();
		void this.#shell.exited(done.signal).then(() => {
			if (this.#isComplete) done.abort();
		});
		for await (const item of follow(this.#bash.log, { offset: this.#position }, { signal: done.signal })) {
			// Runs write to the log too and wait for no client, so there may be gaps.
			if (item.kind === "gap") wire.close(closeCodes.failed, "output was lost");
			if (item.kind !== "output") continue;
			const type = item.stream === "stderr" ? "stderr" : "stdout";
			for (const chunk of chunksOf(item.bytes)) await this.#send(type, chunk);
			this.#move(item.offset + item.bytes.byteLength);
			if (this.#isComplete) break;
		}
		if (this.#shell.exit && this.#isComplete) await sendExit(wire, this.#shell.exit.code);
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
