/** A session in our own terminal: what is typed goes to its program, what that writes is shown, until either ends. */

import { setTimeout as pause } from "node:timers/promises";
import type { Attachment, AttachmentEvent, ExitMessage, Session, SessionMessage } from "../client/index.ts";
import { DetachKeys } from "./detach-keys.ts";
import type { Ending } from "./ending.ts";
import { explain } from "./errors.ts";
import { LocalTerminal, type Size } from "./local-terminal.ts";
import { print, remark } from "./output.ts";
import { TerminalOutput } from "./terminal-output.ts";

export type AttachOptions = {
	/** The first byte to show. */
	readonly since: number | "end";
	/** Whether `since` is in the middle of things, so that the rest of its line is better left out. */
	readonly isCut: boolean;
	/** Everything before this is old: nothing in it asks our terminal a question. */
	readonly liveFrom: number;
	readonly isViewer: boolean;
	/** Take control from whoever has it, and share it with nobody. */
	readonly take: boolean;
	/** How long the server may be away, in milliseconds. */
	readonly patienceMs: number;
};

export const DETACH_HINT = "leave with ~. at the start of a line, or Ctrl-] d; the program runs on";

/** How far to look for the end of a line that was cut. */
const LINE_BYTES = 4096;
/** How long leaving waits for what was typed before it. */
const LAST_WORD_MS = 500;
/** How long output waits for the answer to the demand for control. */
const CLAIM_MS = 1_000;
const NEWLINE = 0x0a;

export function attachTerminal(session: Session, options: AttachOptions): Promise<Ending> {
	return new TerminalSession(session, options).run();
}

class TerminalSession {
	readonly #attachment: Attachment;
	readonly #options: AttachOptions;
	readonly #output = new TerminalOutput();
	readonly #keys = new DetachKeys();
	readonly #terminal: LocalTerminal;
	#isWriter: boolean;
	/** Answers to a program's questions come from one terminal only: that of whoever has control. */
	#isMine = false;
	#isCut: boolean;
	#wasRefused = false;
	#wasConnected = false;
	#isAway = false;
	#lastWrite: Promise<void> = Promise.resolve();
	#exit: ExitMessage | undefined;
	#leave: (signal: NodeJS.Signals | undefined) => void = () => {};

	constructor(session: Session, options: AttachOptions) {
		this.#options = options;
		this.#isWriter = !options.isViewer;
		this.#isCut = options.isCut;
		this.#attachment = session.attach({
			since: options.since,
			role: options.isViewer ? "viewer" : "writer",
			// A terminal that falls behind slows its program down, as terminals do; one that only watches never does.
			flow: options.isViewer ? "live" : "lossless",
			patienceMs: options.patienceMs,
		});
		this.#terminal = new LocalTerminal(this.#output.modes, (size) => this.#resize(size));
	}

	async run(): Promise<Ending> {
		const left = new Promise<Ending>((resolve) => {
			this.#leave = (signal) => resolve({ kind: "left", signal });
		});
		try {
			return await Promise.race([left, this.#show()]);
		} finally {
			process.stdin.off("data", this.#onTyped);
			process.stdin.off("end", this.#onHungUp);
			process.stdin.pause();
			await print(this.#output.end());
			this.#terminal.close();
			await this.#attachment.detach();
		}
	}

	async #show(): Promise<Ending> {
		try {
			for await (const event of this.#attachment) {
				const ending = await this.#handle(event);
				if (ending) return ending;
			}
			return { kind: "lost", message: "its output ended without a word" };
		} catch (error) {
			// Before the first connection it is that we could not attach, which is another thing.
			const explained = this.#wasConnected ? explain(error) : undefined;
			if (!explained) throw error;
			return { kind: "lost", message: explained.sentence };
		}
	}

	async #handle(event: AttachmentEvent): Promise<Ending | undefined> {
		switch (event.kind) {
			case "output":
				await this.#print(event.bytes, event.offset);
				return undefined;
			case "gap":
				this.#terminal.say(`bytes ${event.from} to ${event.to} are not shown (${event.reason})`);
				return undefined;
			case "exited":
				this.#exit = event.exit;
				return undefined;
			case "closed":
				return this.#exit
					? { kind: "exited", exit: this.#exit }
					: { kind: "lost", message: "how it ended is not known" };
			case "lost":
				return { kind: "lost", message: event.message };
			case "lease":
				this.#onLease(event.lease);
				return undefined;
			case "connection":
				if (event.state === "connected") await this.#onConnected(event.session);
				else this.#onDisconnected();
				return undefined;
			case "resized":
			case "refused":
				return undefined;
		}
	}

	async #print(bytes: Uint8Array, offset: number): Promise<void> {
		// The end of a line whose beginning is not shown, perhaps in the middle of an escape sequence.
		const newline = this.#isCut ? bytes.subarray(0, LINE_BYTES).indexOf(NEWLINE) : -1;
		this.#isCut = false;
		const old = Math.max(newline + 1, this.#options.liveFrom - offset);
		await print(this.#output.push(bytes.subarray(newline + 1, old), { answers: false }));
		await print(this.#output.push(bytes.subarray(old), { answers: this.#isMine }));
	}

	/** The first time: the terminal becomes the program's. Later: the server is back. */
	async #onConnected(session: SessionMessage): Promise<void> {
		const isFirst = !this.#wasConnected;
		if (this.#isAway) this.#terminal.say("the server is back");
		this.#isAway = false;
		this.#wasConnected = true;
		if (isFirst) this.#open(session);
		if (!this.#isWriter || session.state !== "running") return;
		if (isFirst) {
			const claimed = this.#claim(this.#options.take).then(
				() => this.#terminal.size && this.#resize(this.#terminal.size),
			);
			// A program may ask the terminal something with its first words, and whether we answer depends on this.
			await Promise.race([claimed, pause(CLAIM_MS, undefined, { ref: false })]);
		} else if (session.lease.holder === null && !this.#options.take) {
			// Exclusive control is demanded again by the attachment itself.
			await Promise.race([this.#claim(false), pause(CLAIM_MS, undefined, { ref: false })]);
		}
	}

	/** Makes this the terminal that answers; with `take`, the only one that may type. */
	async #claim(take: boolean): Promise<void> {
		try {
			this.#onLease(await this.#attachment.take({ exclusive: take, force: take }));
		} catch (error) {
			this.#onRefused(error);
		}
	}

	#open(session: SessionMessage): void {
		if (session.state === "running") remark(this.#isWriter ? DETACH_HINT : `watching only; ${DETACH_HINT}`);
		const { cols, rows } = session.size;
		const here = this.#terminal.size;
		if (!this.#isWriter && here && (here.cols < cols || here.rows < rows)) {
			remark(`the session has ${cols}x${rows}, this terminal only ${here.cols}x${here.rows}`);
		}
		this.#terminal.open(this.#leave);
		process.stdin.on("data", this.#onTyped);
		process.stdin.on("end", this.#onHungUp);
	}

	#onDisconnected(): void {
		if (this.#isAway || !this.#wasConnected) return;
		this.#isAway = true;
		this.#terminal.say("the server is away; waiting for it");
	}

	#onLease({ mine, exclusive, holder }: { mine: boolean; exclusive: boolean; holder: string | null }): void {
		const wasMine = this.#isMine;
		this.#isMine = mine;
		if (mine) this.#wasRefused = false;
		if (wasMine && !mine && exclusive)
			this.#terminal.say(`${holder ?? "somebody else"} has taken control; you are watching`);
		// Whoever had it has left: somebody has to answer the program's questions.
		if (holder === null && this.#isWriter && !this.#exit && this.#wasConnected) void this.#claim(false);
	}

	readonly #onTyped = (chunk: Buffer): void => {
		const { bytes, isDetach } = this.#keys.push(chunk);
		if (this.#isWriter && bytes.byteLength > 0) {
			this.#lastWrite = this.#attachment.write(bytes).catch((error: unknown) => this.#onRefused(error));
		}
		if (!isDetach) return;
		// What was typed just before is on its way, unless the server is away or the program does not read.
		const patience = pause(this.#isAway ? 0 : LAST_WORD_MS, undefined, { ref: false });
		void Promise.race([this.#lastWrite, patience]).then(() => this.#leave(undefined));
	};

	readonly #onHungUp = (): void => this.#leave("SIGHUP");

	/** Said once, not for every key. */
	#onRefused(error: unknown): void {
		const code = error instanceof Error && "code" in error ? error.code : undefined;
		if (code !== "not_writable" || this.#wasRefused) return;
		this.#wasRefused = true;
		this.#terminal.say(`${explain(error)?.sentence ?? String(error)}; you are watching (--take takes control)`);
	}

	#resize({ cols, rows }: Size): void {
		if (!this.#isWriter) return;
		// A program that has ended needs no size, and one that somebody else controls has theirs.
		this.#attachment.resize({ cols, rows }).catch(() => undefined);
	}
}
