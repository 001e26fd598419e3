/** One session under test: its witness, one source of input, a reader of every kind, and the verdict on all of them. */

import { randomUUID } from "node:crypto";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Client, Session } from "../src/client/index.ts";
import type { Random } from "./random.ts";
import { readers } from "./readers.ts";
import { Transcript, WitnessRecord } from "./record.ts";

export type SubjectOptions = {
	readonly client: Client;
	/** Where requests without the SDK go; the server keeps its address over all its starts. */
	readonly url: string;
	readonly token: string;
	readonly root: string;
	readonly directory: string;
	readonly mode: "pty" | "pipe";
	readonly random: Random;
	readonly signal: AbortSignal;
};

/** Input lines that wait between the client and the program, in bytes. */
const AHEAD_BYTES = 256 * 1024;
const OUTPUT_BYTES_PER_SECOND = 200_000;
const RETRY_MS = 50;
/** A program that does not read makes input wait; here every program reads. */
const REQUEST_MS = 30_000;

export class Subject {
	readonly session: Session;
	readonly transcripts: readonly Transcript[];
	/** Set before its keeper is killed: from then on the session may only end as lost. */
	isKeeperKilled = false;
	readonly #options: SubjectOptions;
	readonly #record: WitnessRecord;
	readonly #problems: string[] = [];
	readonly #reading: Promise<void>[];
	readonly #writing: Promise<void>;
	#sent = Buffer.alloc(0);
	#isStopping = false;

	static async start(options: SubjectOptions): Promise<Subject> {
		const { client, root, directory, mode, random } = options;
		await mkdir(directory, { recursive: true });
		const witness = `exec ${process.execPath} ${join(root, "chaos/witness.js")} ${directory} ${random.below(2 ** 31)} ${OUTPUT_BYTES_PER_SECOND}`;
		// A start whose answer was lost is repeated with the same key.
		const idempotencyKey = randomUUID();
		const command = mode === "pty" ? `stty raw -echo; ${witness}` : witness;
		for (;;) {
			try {
				return new Subject(await client.sessions.create({ command, mode }, { idempotencyKey }), options);
			} catch (error) {
				if (!isTemporary(error)) throw error;
				await sleep(RETRY_MS);
			}
		}
	}

	private constructor(session: Session, options: SubjectOptions) {
		this.session = session;
		this.#options = options;
		this.#record = new WitnessRecord(options.directory);
		const { url, token, signal } = options;
		const reading = Object.entries(readers).map(([name, read]) => {
			const transcript = new Transcript(`${session.id.slice(0, 8)} (${options.mode}), ${name}`, this.#record);
			const done = read({ session, url, token, signal }, transcript).catch((error: unknown) =>
				transcript.problem(`stopped at ${transcript.next}: ${describe(error)}`),
			);
			return { transcript, done };
		});
		this.transcripts = reading.map(({ transcript }) => transcript);
		this.#reading = reading.map(({ done }) => done);
		this.#writing = (options.random.below(2) === 0 ? this.#writeBySdk() : this.#writeByHttp()).catch((error: unknown) =>
			this.#problem(`input stopped: ${describe(error)}`),
		);
	}

	/** Input bytes that were sent, and output bytes that readers compared. */
	get counts(): { readonly sent: number; readonly wrote: number; readonly compared: number } {
		const compared = this.transcripts.reduce((sum, transcript) => sum + transcript.compared, 0);
		return { sent: this.#sent.byteLength, wrote: this.#record.size("wrote"), compared };
	}

	/** Ends the program by its input, and resolves when the input is delivered and every reader is at the end. */
	async finish(): Promise<void> {
		this.#isStopping = true;
		await Promise.all([this.#writing, ...this.#reading]);
	}

	/** Everything that broke a promise. */
	verdict(): readonly string[] {
		const wrote = this.#record.size("wrote");
		for (const transcript of this.transcripts) {
			if (transcript.ending) this.#checkEnding(transcript, wrote);
			else transcript.problem(`no end; it has ${transcript.next} of ${wrote} bytes`);
			if (transcript.gaps.length > 0 && !transcript.name.includes("live") && !this.isKeeperKilled) {
				transcript.problem(`gaps in what was kept: ${JSON.stringify(transcript.gaps)}`);
			}
		}
		this.#checkInput();
		return [...this.#problems, ...this.transcripts.flatMap(({ problems }) => problems)];
	}

	#checkEnding(transcript: Transcript, wrote: number): void {
		const { ending, next } = transcript;
		if (!ending) return;
		if (ending.kind === "closed") {
			if (ending.exitCode !== 7) transcript.problem(`exit code ${ending.exitCode}, the program exited with 7`);
			if (next !== wrote) transcript.problem(`closed at ${next}, the program wrote ${wrote} bytes`);
		} else if (!this.isKeeperKilled) transcript.problem("lost, although its keeper lives");
		const [first] = this.transcripts;
		if (first?.ending && first.ending.kind !== ending.kind) {
			transcript.problem(`${ending.kind}, but ${first.ending.kind} for ${first.name}`);
		}
	}

	#checkInput(): void {
		const read = this.#record.bytes("read", 0, this.#record.size("read"));
		if (!read.equals(this.#sent.subarray(0, read.byteLength)))
			this.#problem("the program read other bytes than were sent");
		if (!this.isKeeperKilled && read.byteLength !== this.#sent.byteLength) {
			this.#problem(`the program read ${read.byteLength} bytes of ${this.#sent.byteLength} sent`);
		}
	}

	#problem(sentence: string): void {
		this.#problems.push(`${this.session.id.slice(0, 8)} (${this.#options.mode}): ${sentence}`);
	}

	async #writeBySdk(): Promise<void> {
		const { signal } = this.#options;
		const reconnectTimeoutMs = Number.POSITIVE_INFINITY;
		const attachment = this.session.attach({ role: "writer", flow: "live", since: "end", signal, reconnectTimeoutMs });
		// An attachment that is not read gets no more events; input goes on all the same only while it is read.
		const draining = (async () => {
			for await (const _ of attachment);
		})().catch(() => {});
		try {
			for await (const bytes of this.#input()) await attachment.write(bytes);
		} catch (error) {
			if (!this.isKeeperKilled) throw error;
		} finally {
			await attachment.detach();
			await draining;
		}
	}

	async #writeByHttp(): Promise<void> {
		const { url, token, signal } = this.#options;
		const stream = randomUUID();
		let position = 0;
		for await (const bytes of this.#input()) {
			for (const end = position + bytes.byteLength; position < end && !signal.aborted; ) {
				try {
					const response = await fetch(`${url}/v1/sessions/${this.session.id}/input`, {
						method: "POST",
						body: bytes.subarray(bytes.byteLength - (end - position)),
						headers: {
							authorization: `Bearer ${token}`,
							"content-type": "application/octet-stream",
							"idempotency-key": `${stream}:${position}`,
						},
						signal: AbortSignal.timeout(REQUEST_MS),
					});
					const answer = (await response.json()) as { next?: number };
					if (response.ok && answer.next !== undefined) position = answer.next;
					else if (this.isKeeperKilled) return;
					else if (response.status !== 503 && response.status !== 429) {
						throw new Error(`input: ${response.status} ${JSON.stringify(answer)}`);
					} else await sleep(RETRY_MS);
				} catch (error) {
					if (!(error instanceof TypeError)) throw error;
					await sleep(RETRY_MS);
				}
			}
		}
	}

	/** Numbered lines until the run stops, then `END`; never far ahead of what the program has read. */
	async *#input(): AsyncGenerator<Uint8Array, void, void> {
		const { random, signal } = this.#options;
		const keep = (text: string) => {
			const bytes = Buffer.from(text);
			this.#sent = Buffer.concat([this.#sent, bytes]);
			return bytes;
		};
		for (let line = 0; !this.#isStopping && !this.isKeeperKilled && !signal.aborted; line++) {
			const length = random.below(4) === 0 ? 8_000 : 200;
			yield keep(`${line} ${"x".repeat(random.below(length))}\n`);
			const isAhead = () => this.#sent.byteLength - this.#record.size("read") > AHEAD_BYTES;
			await sleep(5);
			while (isAhead() && !this.#isStopping && !this.isKeeperKilled && !signal.aborted) await sleep(RETRY_MS);
		}
		if (!this.isKeeperKilled) yield keep("END\n");
	}
}

function isTemporary(error: unknown): boolean {
	return error instanceof Error && "isTemporary" in error && error.isTemporary === true;
}

function describe(error: unknown): string {
	return error instanceof Error ? `${error.name}: ${error.message}` : String(error);
}
