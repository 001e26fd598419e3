/** Attaches a session to the local terminal until the program ends or the user detaches. */

import { setTimeout as pause } from "node:timers/promises";
import { isatty } from "node:tty";
import {
	type Attachment,
	type AttachmentEvent,
	type ExitMessage,
	ReplyRanges,
	type Session,
	type SessionMessage,
} from "../../client/index.ts";
import { errorCode, toUserError } from "../print/errors.ts";
import { print, printNotice } from "../print/output.ts";
import { LocalTerminal, type Size } from "../terminal/local-terminal.ts";
import { OutputFilter } from "../terminal/output-filter.ts";
import { STATUS_QUERY } from "../terminal/program-status.ts";
import {
	type AttachCommand,
	EscapeKeys,
	type EscapePrefixes,
	escapeHelp,
	escapeHint,
	keyLabels,
} from "./escape-keys.ts";
import { disconnectedOutcome, type Outcome } from "./outcome.ts";

type AttachOptions = {
	/** First byte to show. */
	readonly since: number | "end";
	/** Whether to start with the session's screen, if it has one. Ignores `since` then. */
	readonly isFromScreen: boolean;
	/** Whether `since` may be inside a line. The rest of that line is skipped. */
	readonly startsMidLine: boolean;
	/** Output before this offset is a replay: its queries are not passed to the local terminal. */
	readonly replayEnd: number;
	readonly isViewer: boolean;
	/** Take exclusive control. */
	readonly take: boolean;
	/** Whether the program has a terminal. A program on pipes gets lines, and Ctrl-C as a signal. */
	readonly hasTerminal: boolean;
	readonly escapes: EscapePrefixes;
	/** How long to wait for an unreachable server, in milliseconds. */
	readonly reconnectTimeoutMs: number;
};

/** Scrollback rows printed before the screen. */
const SCROLLBACK_ROWS = 200;
/** How far to look for the end of a partial line. */
const LINE_BYTES = 4096;
/** How long detaching waits for earlier input to be sent. */
const DETACH_FLUSH_MS = 500;
/** Time between two sizes, so that the program notices each. */
const RESIZE_SETTLE_MS = 50;
/** Reports a size difference only after this time, because ours may be about to apply. */
const SETTLED_MS = 500;
/** Output waits this long for the lease. */
const LEASE_TIMEOUT_MS = 1_000;
const NEWLINE = 0x0a;

export function attachTerminal(session: Session, options: AttachOptions): Promise<Outcome> {
	return new TerminalAttachment(session, options).run();
}

class TerminalAttachment {
	readonly #session: Session;
	readonly #attachment: Attachment;
	readonly #options: AttachOptions;
	readonly #output = new OutputFilter();
	readonly #keys: EscapeKeys;
	readonly #terminal: LocalTerminal;
	/** Why this terminal is view only; undefined for a writer. */
	#viewOnlyReason: string | undefined;
	/** Exactly one terminal answers a program's queries: the lease holder's, if it can. */
	readonly #turns = new ReplyRanges();
	#isMine = false;
	#startsMidLine: boolean;
	#reportedReadOnly = false;
	#wasConnected = false;
	#isAway = false;
	#lastWrite: Promise<void> = Promise.resolve();
	#exit: ExitMessage | undefined;
	/** Size of the session. */
	#size: Size | undefined;
	#resizedTimer: NodeJS.Timeout | undefined;
	#leave: (signal: NodeJS.Signals | undefined) => void = () => {};

	constructor(session: Session, options: AttachOptions) {
		this.#session = session;
		this.#options = options;
		this.#keys = new EscapeKeys(options.escapes);
		this.#viewOnlyReason = options.isViewer ? "view only (--view)" : undefined;
		this.#startsMidLine = options.startsMidLine;
		this.#terminal = new LocalTerminal(this.#output.modes, {
			keepsLineMode: !options.hasTerminal,
			onSize: (size) => this.#sendSize(size),
		});
		const { size } = this.#terminal;
		this.#attachment = session.attach({
			since: options.since,
			...(options.isFromScreen ? { from: "screen", scrollback: SCROLLBACK_ROWS } : {}),
			role: options.isViewer ? "viewer" : "writer",
			// A slow writer slows its program down, as a terminal does; a viewer never does.
			flow: options.isViewer ? "live" : "lossless",
			reconnectTimeoutMs: options.reconnectTimeoutMs,
			...(options.hasTerminal && !options.isViewer ? { replies: true, ...(size ? { size } : {}) } : {}),
		});
	}

	get #isWriter(): boolean {
		return this.#viewOnlyReason === undefined;
	}

	async run(): Promise<Outcome> {
		const left = new Promise<Outcome>((resolve) => {
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
			await print(this.#output.status.clear());
			this.#terminal.close();
			await this.#attachment.detach();
			this.#terminal.releaseSignals();
		}
	}

	async #show(): Promise<Outcome> {
		try {
			for await (const event of this.#attachment) {
				const ending = await this.#handle(event);
				if (ending) return ending;
			}
			return { kind: "lost", message: "the output ended unexpectedly" };
		} catch (error) {
			// Before the first connection it is a failed start.
			const ending = this.#wasConnected ? disconnectedOutcome(error) : undefined;
			if (!ending) throw error;
			return ending;
		}
	}

	async #handle(event: AttachmentEvent): Promise<Outcome | undefined> {
		switch (event.kind) {
			case "output":
				await this.#print(event.bytes, event.offset);
				return undefined;
			case "screen":
				await this.#draw(event);
				return undefined;
			case "gap":
				this.#terminal.say(`skipped bytes ${event.from} to ${event.to} (${event.reason})`);
				return undefined;
			case "exited":
				this.#exit = event.exit;
				return undefined;
			case "closed":
				return this.#exit
					? { kind: "exited", exit: this.#exit }
					: { kind: "lost", message: "the exit status is unknown" };
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
		// Skips the rest of a partial line, which may start inside an escape sequence.
		const newline = this.#startsMidLine ? bytes.subarray(0, LINE_BYTES).indexOf(NEWLINE) : -1;
		this.#startsMidLine = false;
		const old = Math.max(newline + 1, this.#options.replayEnd - offset);
		await print(this.#output.push(bytes.subarray(newline + 1, old), "replay"));
		// The replay ends here: report its latest program status, and nothing from before.
		if (old > newline + 1 && old <= bytes.byteLength) await print(this.#output.status.current());
		for (const part of this.#turns.split(offset + old, bytes.subarray(old))) {
			await print(this.#output.push(part.bytes, part.mine ? "live" : "no-queries"));
		}
	}

	async #draw({ bytes, isFirst }: Extract<AttachmentEvent, { kind: "screen" }>): Promise<void> {
		this.#startsMidLine = false;
		// The bytes start with a clear screen. Scroll the local screen away first, so that it stays in the scrollback.
		if (isFirst) await print("\n".repeat(this.#terminal.size?.rows ?? 0));
		await print(this.#output.push(bytes, "replay"));
		await print(this.#output.status.current());
	}

	/** The first connection opens the terminal; later ones report the reconnect. */
	async #onConnected(session: SessionMessage): Promise<void> {
		this.#turns.reset();
		if (this.#isAway) this.#terminal.say("reconnected");
		this.#isAway = false;
		// An exit before the first screen is not reported as an event.
		this.#exit ??= session.exit ?? undefined;
		const mayClaim = this.#isWriter && session.state === "running";
		if (this.#wasConnected) {
			// The attachment requests exclusive control again by itself.
			if (mayClaim && session.lease.holder === null && !this.#options.take) await this.#takeLeaseWithTimeout(false);
			return;
		}
		// Before the terminal is in raw mode: a missing right shows in the response.
		const refusal = mayClaim ? await this.#takeLeaseWithTimeout(this.#options.take) : undefined;
		if (this.#options.take && errorCode(refusal) === "permission_denied") throw refusal;
		this.#wasConnected = true;
		this.#open(session);
		// Without the lease the session may have ignored the size.
		if (mayClaim && this.#terminal.size) this.#sendSize(this.#terminal.size);
	}

	/** The program may query the terminal at once; the lease decides whether this terminal answers. */
	#takeLeaseWithTimeout(take: boolean): Promise<unknown> {
		return Promise.race([this.#takeLease(take), pause(LEASE_TIMEOUT_MS, undefined, { ref: false })]);
	}

	/**
	 * Takes the lease, so that this terminal answers queries; with `take`, exclusively. Resolves with the error, if any.
	 */
	async #takeLease(take: boolean): Promise<unknown> {
		try {
			this.#onLease(await this.#attachment.take({ exclusive: take, force: take }));
			return undefined;
		} catch (error) {
			this.#onRefused(error);
			return error;
		}
	}

	#open(session: SessionMessage): void {
		if (session.state === "running") printNotice(this.#hint());
		const { cols, rows } = session.size;
		this.#size = { cols, rows };
		const here = this.#terminal.size;
		if (!this.#isWriter && here && (here.cols < cols || here.rows < rows)) {
			printNotice(`session size is ${cols}x${rows}; this terminal is smaller (${here.cols}x${here.rows})`);
		}
		this.#terminal.open(this.#onSignal);
		process.stdin.on("data", this.#onTyped);
		process.stdin.on("end", this.#onHungUp);
		// An earlier reader of stdin has paused it.
		process.stdin.resume();
		if (this.#options.hasTerminal) void print(STATUS_QUERY);
	}

	#onDisconnected(): void {
		if (this.#isAway || !this.#wasConnected) return;
		this.#isAway = true;
		this.#terminal.say("server unreachable; reconnecting");
	}

	#onLease({ mine, exclusive, holder }: { mine: boolean; exclusive: boolean; holder: string | null }): void {
		const wasMine = this.#isMine;
		this.#isMine = mine;
		if (mine) this.#reportedReadOnly = false;
		if (wasMine && !mine && exclusive)
			this.#terminal.say(`${holder ?? "another client"} took control; you are now a viewer`);
		// Without a lease holder, no terminal answers the program's queries.
		if (holder === null && this.#isWriter && !this.#exit && this.#wasConnected) void this.#takeLease(false);
	}

	#hint(): string {
		const { escapes, hasTerminal } = this.#options;
		const leave = escapeHint(escapes) ?? "no detach key (--escape none)";
		const role = this.#isWriter ? "" : `${this.#viewOnlyReason}; input is not sent; `;
		const lines = hasTerminal ? "" : " and Enter; Ctrl-C goes to the program, Ctrl-\\ detaches too";
		return `${role}${leave}${this.#isWriter ? lines : ""}; the program keeps running`;
	}

	readonly #onTyped = (chunk: Buffer): void => {
		const { status } = this.#output;
		const wasKnown = status.isKnown;
		const { bytes, commands } = this.#keys.push(status.takeReplies(chunk));
		if (status.isKnown && !wasKnown) void print(status.current());
		if (this.#isWriter && bytes.byteLength > 0) {
			this.#lastWrite = this.#attachment.write(bytes).catch((error: unknown) => this.#onRefused(error));
		} else if (bytes.byteLength > 0) this.#sayViewer();
		for (const command of commands) this.#runCommand(command);
	};

	#runCommand(command: AttachCommand): void {
		if (command === "leave") {
			// Wait for input that is being sent, but not if the server is unreachable or the program does not read.
			const flushed = pause(this.#isAway ? 0 : DETACH_FLUSH_MS, undefined, { ref: false });
			void Promise.race([this.#lastWrite, flushed]).then(() => this.#leave(undefined));
		} else if (command === "help") this.#showHelp();
		else if (command === "who") void this.#showAttached();
		else if (command === "suspend") this.#suspend();
		else if (!this.#isWriter) {
			this.#terminal.say(`${this.#viewOnlyReason}: viewers cannot take control or redraw`);
		} else if (command === "redraw") void this.#redraw();
		else void this.#takeLease(true).then(() => this.#isMine && this.#terminal.say("you have control"));
	}

	#showHelp(): void {
		this.#terminal.showLines(escapeHelp(this.#options.escapes, { isViewer: !this.#isWriter }));
	}

	#suspend(): void {
		this.#terminal.suspend();
		if (this.#isWriter) void this.#redraw();
	}

	async #showAttached(): Promise<void> {
		try {
			// Viewers may not list clients, so they see only the count.
			const asked = this.#isWriter ? this.#session.attached().catch(() => []) : [];
			const [{ attachments, lease }, attached] = await Promise.all([this.#session.info(), asked]);
			const kind = lease.exclusive ? "exclusive " : "";
			const control = this.#isMine ? `you have ${kind}control` : `${lease.holder ?? "no one"} has ${kind}control`;
			const names = attached.length === 0 ? "" : `: ${attached.map(({ name }) => name).join(", ")}`;
			this.#terminal.say(`${attachments} attached${names}; ${control}`);
		} catch (error) {
			this.#terminal.say(toUserError(error)?.message ?? String(error));
		}
	}

	/** Makes the program redraw: one column less, then the old size. */
	async #redraw(): Promise<void> {
		const size = this.#size;
		if (!size || !this.#options.hasTerminal) return;
		await this.#attachment.resize({ ...size, cols: Math.max(1, size.cols - 1) }).catch(() => undefined);
		await pause(RESIZE_SETTLE_MS);
		await this.#attachment.resize(size).catch(() => undefined);
	}

	/** Printed once, not per key. */
	#sayViewer(): void {
		if (this.#reportedReadOnly) return;
		this.#reportedReadOnly = true;
		this.#terminal.say(`${this.#viewOnlyReason}: input is not sent`);
	}

	/** For a program on pipes, the local terminal turns Ctrl-C into a signal instead of a byte. */
	readonly #onSignal = (signal: NodeJS.Signals): void => {
		const isForProgram = !this.#options.hasTerminal && this.#isWriter && !this.#isAway && signal === "SIGINT";
		if (!isForProgram) this.#leave(signal);
		else this.#attachment.signal("INT", { urgent: true }).catch((error: unknown) => this.#onRefused(error));
	};

	/** A closed terminal also ends stdin. In line mode, Ctrl-D means end of input for the program. */
	readonly #onHungUp = (): void => {
		const isEof = !this.#options.hasTerminal && this.#isWriter && isatty(process.stdin.fd);
		if (isEof) this.#attachment.eof().catch((error: unknown) => this.#onRefused(error));
		else this.#leave("SIGHUP");
	};

	/** Printed once, not per key. */
	#onRefused(error: unknown): void {
		if (errorCode(error) === "permission_denied" && this.#isWriter) {
			this.#viewOnlyReason = "view only (this token may not write)";
			// Before that, the hint includes it.
			if (this.#wasConnected) this.#sayViewer();
			return;
		}
		if (errorCode(error) !== "not_writable" || this.#reportedReadOnly) return;
		this.#reportedReadOnly = true;
		const take = keyLabels(this.#options.escapes, "T", "t")[0] ?? "hawser attach --take";
		this.#terminal.say(
			`${error instanceof Error ? error.message : ""}; you are a viewer (press ${take} to take control)`,
		);
	}

	/** Sends the local terminal's size; the session's size policy decides whether it applies. */
	#sendSize(size: Size): void {
		if (this.#isWriter && this.#options.hasTerminal) this.#attachment.setSize(size);
	}

	/** Another client resized the session. Its output will look wrong here, so report it once the size is stable. */
	#onResized({ cols, rows }: Size): void {
		this.#size = { cols, rows };
		clearTimeout(this.#resizedTimer);
		this.#resizedTimer = setTimeout(() => {
			const here = this.#terminal.size;
			if (!here || (here.cols === cols && here.rows === rows) || this.#exit) return;
			this.#terminal.say(`session resized to ${cols}x${rows}; this terminal is ${here.cols}x${here.rows}`);
		}, SETTLED_MS).unref();
	}
}
