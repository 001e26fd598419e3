/** A session in our own terminal: what is typed goes to its program, what that writes is shown, until either ends. */

import { setTimeout as pause } from "node:timers/promises";
import { isatty } from "node:tty";
import {
	type Attachment,
	type AttachmentEvent,
	type ExitMessage,
	ReplyTurns,
	type Session,
	type SessionMessage,
} from "../client/index.ts";
import { cutBy, type Ending } from "./ending.ts";
import { explain, reasonOf } from "./errors.ts";
import { type Escape, EscapeKeys, escapeHelp, escapeHint, pairs, type Wish } from "./escape-keys.ts";
import { LocalTerminal, type Size } from "./local-terminal.ts";
import { print, remark } from "./output.ts";
import { TerminalOutput } from "./terminal-output.ts";

export type AttachOptions = {
	/** The first byte to show. */
	readonly since: number | "end";
	/** Whether to begin with what the session's terminal shows, where that is known; then `since` is not needed. */
	readonly isFromScreen: boolean;
	/** Whether `since` is in the middle of things, so that the rest of its line is better left out. */
	readonly isCut: boolean;
	/** Everything before this is old: nothing in it asks our terminal a question. */
	readonly liveFrom: number;
	readonly isViewer: boolean;
	/** Take control from whoever has it, and share it with nobody. */
	readonly take: boolean;
	/** Whether the program has a terminal; one on pipes gets lines, and Ctrl-C as a signal. */
	readonly hasTerminal: boolean;
	/** Which keys are for us. */
	readonly escapes: Escape;
	/** How long the server may be away, in milliseconds. */
	readonly patienceMs: number;
};

/** How much of what was scrolled away comes before the screen: a few pages, to look back at. */
const SCROLLBACK_ROWS = 200;
/** How far to look for the end of a line that was cut. */
const LINE_BYTES = 4096;
/** How long leaving waits for what was typed before it. */
const LAST_WORD_MS = 500;
/** How long a program may take to notice one size before it gets the next. */
const NOTICE_MS = 50;
/** How long the session's size must be another than ours before it is said: it may be on its way to ours. */
const SETTLED_MS = 500;
/** How long output waits for the answer to the demand for control. */
const CLAIM_MS = 1_000;
const NEWLINE = 0x0a;

export function attachTerminal(session: Session, options: AttachOptions): Promise<Ending> {
	return new TerminalSession(session, options).run();
}

class TerminalSession {
	readonly #session: Session;
	readonly #attachment: Attachment;
	readonly #options: AttachOptions;
	readonly #output = new TerminalOutput();
	readonly #keys: EscapeKeys;
	readonly #terminal: LocalTerminal;
	/** Why nothing is typed from here, if so. */
	#watching: string | undefined;
	/** Answers to a program's questions come from one terminal only: that of whoever has control, if it can. */
	readonly #turns = new ReplyTurns();
	/** Whether we have control. */
	#isMine = false;
	#isCut: boolean;
	#wasRefused = false;
	#wasConnected = false;
	#isAway = false;
	#lastWrite: Promise<void> = Promise.resolve();
	#exit: ExitMessage | undefined;
	/** The session's. */
	#size: Size | undefined;
	#resizedTimer: NodeJS.Timeout | undefined;
	#leave: (signal: NodeJS.Signals | undefined) => void = () => {};

	constructor(session: Session, options: AttachOptions) {
		this.#session = session;
		this.#options = options;
		this.#keys = new EscapeKeys(options.escapes);
		this.#watching = options.isViewer ? "watching only (--view)" : undefined;
		this.#isCut = options.isCut;
		this.#terminal = new LocalTerminal(this.#output.modes, {
			isByLine: !options.hasTerminal,
			onSize: (size) => this.#tellSize(size),
		});
		const { size } = this.#terminal;
		this.#attachment = session.attach({
			since: options.since,
			...(options.isFromScreen ? { from: "screen", scrollback: SCROLLBACK_ROWS } : {}),
			role: options.isViewer ? "viewer" : "writer",
			// A terminal that falls behind slows its program down, as terminals do; one that only watches never does.
			flow: options.isViewer ? "live" : "lossless",
			patienceMs: options.patienceMs,
			...(options.hasTerminal && !options.isViewer ? { replies: true, ...(size ? { size } : {}) } : {}),
		});
	}

	get #isWriter(): boolean {
		return this.#watching === undefined;
	}

	async run(): Promise<Ending> {
		const left = new Promise<Ending>((resolve) => {
			this.#leave = (signal) => resolve({ kind: "left", signal });
		});
		try {
			return await Promise.race([left, this.#show()]);
		} finally {
			clearTimeout(this.#resizedTimer);
			process.stdin.off("data", this.#onTyped);
			process.stdin.off("end", this.#onHungUp);
			process.stdin.pause();
			await print(this.#output.end());
			this.#terminal.close();
			await this.#attachment.detach();
			this.#terminal.letSignalsBe();
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
			const ending = this.#wasConnected ? cutBy(error) : undefined;
			if (!ending) throw error;
			return ending;
		}
	}

	async #handle(event: AttachmentEvent): Promise<Ending | undefined> {
		switch (event.kind) {
			case "output":
				await this.#print(event.bytes, event.offset);
				return undefined;
			case "screen":
				await this.#draw(event);
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
			case "replies":
				this.#turns.change(event);
				return undefined;
			case "lease":
				this.#onLease(event.lease);
				return undefined;
			case "connection":
				if (event.state === "connected") await this.#onConnected(event.session);
				else this.#onDisconnected();
				return undefined;
			case "resized":
				this.#onResized(event);
				return undefined;
			case "refused":
			case "waiting":
			case "ready":
			case "command":
			case "approval":
				return undefined;
		}
	}

	async #print(bytes: Uint8Array, offset: number): Promise<void> {
		// The end of a line whose beginning is not shown, perhaps in the middle of an escape sequence.
		const newline = this.#isCut ? bytes.subarray(0, LINE_BYTES).indexOf(NEWLINE) : -1;
		this.#isCut = false;
		const old = Math.max(newline + 1, this.#options.liveFrom - offset);
		await print(this.#output.push(bytes.subarray(newline + 1, old), "old"));
		for (const part of this.#turns.split(offset + old, bytes.subarray(old))) {
			await print(this.#output.push(part.bytes, part.mine ? "live" : "unanswered"));
		}
	}

	async #draw({ bytes, isFirst }: Extract<AttachmentEvent, { kind: "screen" }>): Promise<void> {
		this.#isCut = false;
		// It begins with an empty screen: what is on ours now scrolls away first, and can be looked back at.
		if (isFirst) await print("\n".repeat(this.#terminal.size?.rows ?? 0));
		await print(this.#output.push(bytes, "old"));
	}

	/** The first time: the terminal becomes the program's. Later: the server is back. */
	async #onConnected(session: SessionMessage): Promise<void> {
		this.#turns.reset();
		if (this.#isAway) this.#terminal.say("the server is back");
		this.#isAway = false;
		// What was before the screen that we begin with is not told again.
		this.#exit ??= session.exit ?? undefined;
		const mayClaim = this.#isWriter && session.state === "running";
		if (this.#wasConnected) {
			// Exclusive control is demanded again by the attachment itself.
			if (mayClaim && session.lease.holder === null && !this.#options.take) await this.#claimSoon(false);
			return;
		}
		// Before the terminal is the program's: what a token may do shows in this.
		const refusal = mayClaim ? await this.#claimSoon(this.#options.take) : undefined;
		if (this.#options.take && reasonOf(refusal) === "permission_denied") throw refusal;
		this.#wasConnected = true;
		this.#open(session);
		// With control it is ours to say, which it may not have been before.
		if (mayClaim && this.#terminal.size) this.#tellSize(this.#terminal.size);
	}

	/** A program may ask the terminal something with its first words, and whether we answer depends on the answer to this. */
	#claimSoon(take: boolean): Promise<unknown> {
		return Promise.race([this.#claim(take), pause(CLAIM_MS, undefined, { ref: false })]);
	}

	/** Makes this the terminal that answers; with `take`, the only one that may type. Resolves with why not, if so. */
	async #claim(take: boolean): Promise<unknown> {
		try {
			this.#onLease(await this.#attachment.take({ exclusive: take, force: take }));
			return undefined;
		} catch (error) {
			this.#onRefused(error);
			return error;
		}
	}

	#open(session: SessionMessage): void {
		if (session.state === "running") remark(this.#hint());
		const { cols, rows } = session.size;
		this.#size = { cols, rows };
		const here = this.#terminal.size;
		if (!this.#isWriter && here && (here.cols < cols || here.rows < rows)) {
			remark(`the session has ${cols}x${rows}, this terminal only ${here.cols}x${here.rows}`);
		}
		this.#terminal.open(this.#onSignal);
		process.stdin.on("data", this.#onTyped);
		process.stdin.on("end", this.#onHungUp);
		// Whoever had it before us has paused it.
		process.stdin.resume();
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

	#hint(): string {
		const { escapes, hasTerminal } = this.#options;
		const leave = escapeHint(escapes) ?? "no key leaves (--escape none)";
		const role = this.#isWriter ? "" : `${this.#watching}; what you type is not sent; `;
		const lines = hasTerminal ? "" : " and Enter; Ctrl-C goes to the program, Ctrl-\\ leaves too";
		return `${role}${leave}${this.#isWriter ? lines : ""}; the program keeps running`;
	}

	readonly #onTyped = (chunk: Buffer): void => {
		const { bytes, wishes } = this.#keys.push(chunk);
		if (this.#isWriter && bytes.byteLength > 0) {
			this.#lastWrite = this.#attachment.write(bytes).catch((error: unknown) => this.#onRefused(error));
		} else if (bytes.byteLength > 0) this.#sayViewer();
		for (const wish of wishes) this.#fulfil(wish);
	};

	#fulfil(wish: Wish): void {
		if (wish === "leave") {
			// What was typed just before is on its way, unless the server is away or the program does not read.
			const patience = pause(this.#isAway ? 0 : LAST_WORD_MS, undefined, { ref: false });
			void Promise.race([this.#lastWrite, patience]).then(() => this.#leave(undefined));
		} else if (wish === "help") this.#showHelp();
		else if (wish === "who") void this.#sayWho();
		else if (wish === "suspend") this.#suspend();
		else if (!this.#isWriter) {
			this.#terminal.say(`${this.#watching}: taking control and redrawing are for those who may type`);
		} else if (wish === "redraw") void this.#redraw();
		else void this.#claim(true).then(() => this.#isMine && this.#terminal.say("you have control"));
	}

	#showHelp(): void {
		this.#terminal.showLines(escapeHelp(this.#options.escapes, { isViewer: !this.#isWriter }));
	}

	#suspend(): void {
		this.#terminal.suspend();
		if (this.#isWriter) void this.#redraw();
	}

	async #sayWho(): Promise<void> {
		try {
			// To those who only watch, the others stay a number, and with an older server to everybody.
			const asked = this.#isWriter ? this.#session.attached().catch(() => []) : [];
			const [{ attachments, lease }, attached] = await Promise.all([this.#session.info(), asked]);
			const control = this.#isMine ? "you have control" : `${lease.holder ?? "nobody"} has control`;
			const names = attached.length === 0 ? "" : `: ${attached.map(({ name }) => name).join(", ")}`;
			this.#terminal.say(
				`${attachments} here${names}; ${control}${lease.exclusive ? ", and nobody else may type" : ""}`,
			);
		} catch (error) {
			this.#terminal.say(explain(error)?.sentence ?? String(error));
		}
	}

	/** Programs draw everything anew when their size changes; one column less, and back, is enough for that. */
	async #redraw(): Promise<void> {
		const size = this.#size;
		if (!size || !this.#options.hasTerminal) return;
		await this.#attachment.resize({ ...size, cols: Math.max(1, size.cols - 1) }).catch(() => undefined);
		await pause(NOTICE_MS);
		await this.#attachment.resize(size).catch(() => undefined);
	}

	/** Said once, not for every key. */
	#sayViewer(): void {
		if (this.#wasRefused) return;
		this.#wasRefused = true;
		this.#terminal.say(`${this.#watching}: what you type is not sent`);
	}

	/** Of a program on pipes, Ctrl-C is for the program: our terminal makes a signal of it, and no byte. */
	readonly #onSignal = (signal: NodeJS.Signals): void => {
		const isForProgram = !this.#options.hasTerminal && this.#isWriter && !this.#isAway && signal === "SIGINT";
		if (!isForProgram) this.#leave(signal);
		else this.#attachment.signal("INT", { urgent: true }).catch((error: unknown) => this.#onRefused(error));
	};

	/** A terminal that is gone has an end as well; but where lines are typed, Ctrl-D is that of the program's input. */
	readonly #onHungUp = (): void => {
		const isEof = !this.#options.hasTerminal && this.#isWriter && isatty(process.stdin.fd);
		if (isEof) this.#attachment.eof().catch((error: unknown) => this.#onRefused(error));
		else this.#leave("SIGHUP");
	};

	/** Said once, not for every key. */
	#onRefused(error: unknown): void {
		if (reasonOf(error) === "permission_denied" && this.#isWriter) {
			this.#watching = "watching only (this token may not type)";
			// Otherwise the first words of ours will say so.
			if (this.#wasConnected) this.#sayViewer();
			return;
		}
		if (reasonOf(error) !== "not_writable" || this.#wasRefused) return;
		this.#wasRefused = true;
		const take = pairs(this.#options.escapes, "T", "t")[0] ?? "hawser attach --take";
		this.#terminal.say(`${error instanceof Error ? error.message : ""}; you are watching (${take} takes control)`);
	}

	/** Our terminal's size, which becomes that of the session if its policy is so. */
	#tellSize(size: Size): void {
		if (this.#isWriter && this.#options.hasTerminal) this.#attachment.setSize(size);
	}

	/** Somebody else's terminal decides: what is drawn for another size looks wrong here. Said once it stays so. */
	#onResized({ cols, rows }: Size): void {
		this.#size = { cols, rows };
		clearTimeout(this.#resizedTimer);
		this.#resizedTimer = setTimeout(() => {
			const here = this.#terminal.size;
			if (!here || (here.cols === cols && here.rows === rows) || this.#exit) return;
			this.#terminal.say(`the session has ${cols}x${rows} now, this terminal ${here.cols}x${here.rows}`);
		}, SETTLED_MS).unref();
	}
}
