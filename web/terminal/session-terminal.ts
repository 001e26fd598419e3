/**
 * A session in a terminal of the page: shows its output and sends the user's input.
 *
 * It starts with the session's screen. Viewing changes nothing: the page's size and focus and mouse reports are sent
 * only after the first key press.
 */

import { type ReadonlySignal, signal } from "@preact/signals-core";
import type { Attachment, AttachmentEvent, ConnectionEvent, Session, SessionMessage } from "hawser/client";
import { HawserError } from "hawser/client";
import { clipboardText } from "./clipboard.ts";
import { Emulator, type Size } from "./emulator.ts";
import { TerminalFit } from "./fit.ts";
import { type Gap, replay } from "./history.ts";
import { isFocusOrMouseReport, type OwnKey, ownKey } from "./key-encoding.ts";
import { asOneLine, isRisky, pasted } from "./paste.ts";
import { RedrawTimer } from "./redraw-timer.ts";
import { applyConnection, applyLease, type Lease, stateOf, type TerminalState } from "./terminal-state.ts";

export type TerminalOptions = {
	/** With info from the server. */
	readonly session: Session & { readonly snapshot: SessionMessage };
	readonly canType: boolean;
	/** Whether the page never resizes the session, such as in a tile. */
	readonly neverResizes?: boolean;
	readonly fontSize: number;
	readonly screenReaderMode: boolean;
	readonly mayUseClipboard: boolean;
	/** The line displayed for missing output. */
	readonly describeGap: (gap: Gap) => string;
	/** Called for shortcuts that the terminal does not handle. */
	readonly onKey: (key: OwnKey) => void;
};

/** Scrollback rows requested with the screen; the server's maximum. */
const SCROLLBACK_ROWS = 200;
/** For programs on pipes, which have no screen: bytes of output read first. */
const PIPE_BYTES = 256 * 1024;
/** Clears the scrollback, because a new screen brings its own. */
const CLEAR_SCROLLBACK = "\u001b[?1049l\u001b[3J";

export class SessionTerminal {
	readonly emulator: Emulator;
	/** Modifies typed text, such as by held on-screen modifiers. */
	modify: (typed: string) => string = (typed) => typed;
	readonly #options: TerminalOptions;
	readonly #attachment: Attachment;
	readonly #state;
	readonly #fitting: TerminalFit;
	/** Undefined for programs on pipes, which have no screen. */
	readonly #redrawing: RedrawTimer | undefined;
	/** Serializes everything that changes the terminal. */
	#turn: Promise<void> = Promise.resolve();
	/** First loaded output byte; undefined if it started with the screen. */
	#loadedFrom: number | undefined;
	#mayUseClipboard: boolean;
	readonly #disposed = new AbortController();

	constructor(parent: HTMLElement, options: TerminalOptions) {
		const { session, canType } = options;
		const { snapshot } = session;
		this.#options = options;
		this.#mayUseClipboard = options.mayUseClipboard;
		this.emulator = new Emulator(parent, {
			size: snapshot.size,
			fontSize: options.fontSize,
			screenReaderMode: options.screenReaderMode,
			hasBareNewlines: snapshot.mode === "pipe",
		});
		this.#state = signal(stateOf(snapshot, this.emulator.availableSize, canType));
		this.#attachment = session.attach({
			from: "screen",
			scrollback: SCROLLBACK_ROWS,
			since: snapshot.offsets ? Math.max(snapshot.offsets.oldest, snapshot.offsets.end - PIPE_BYTES) : 0,
			role: canType ? "writer" : "viewer",
			// A background page must not slow a program down. Skipped output is redrawn.
			flow: "live",
			onConnection: (event) => this.#connectionChanged(event),
		});
		const isOurs = !options.neverResizes && snapshot.mode === "pty";
		this.#fitting = new TerminalFit(parent, this.emulator, {
			onRoom: (room) => this.#change({ room }),
			sendSize: isOurs ? (size) => this.#attachment.setSize(size) : undefined,
		});
		this.#redrawing = snapshot.mode === "pty" ? new RedrawTimer(() => this.#redraw()) : undefined;
		this.#listen(parent);
		void this.#show();
	}

	get state(): ReadonlySignal<TerminalState> {
		return this.#state;
	}

	/** Sends input as if it were typed. */
	type(text: string | Uint8Array): void {
		if (!this.#options.canType) {
			this.#refused();
			return;
		}
		this.#fitting.activate();
		const began = performance.now();
		const { connection } = this.#state.value;
		this.#attachment.write(text).then(
			() => {
				// Only inputs acknowledged on the same connection measure the latency.
				if (this.#state.value.connection === connection) this.#change({ latencyMs: performance.now() - began });
			},
			() => this.#refused(),
		);
	}

	/** Sends the end of input. */
	sendEof(): void {
		this.#attachment.eof().catch(() => this.#refused());
	}

	/** Pastes clipboard text; asks first if the program would take each line separately. */
	paste(text: string): void {
		if (text === "") return;
		const { bracketedPasteMode } = this.emulator.xterm.modes;
		if (isRisky(text, bracketedPasteMode)) this.#change({ paste: text });
		else this.type(pasted(text, bracketedPasteMode));
	}

	/** Resolves the pending paste. */
	confirmPaste(how: "as-it-is" | "as-one-line" | "not"): void {
		const { paste = "" } = this.#state.value;
		this.#change({ paste: undefined });
		if (how !== "not") this.type(pasted(how === "as-one-line" ? asOneLine(paste) : paste, false));
		this.emulator.xterm.focus();
	}

	/** Allows or denies clipboard writes of this session. */
	confirmClipboard(isAllowed: boolean): void {
		const { clipboard } = this.#state.value;
		this.#change({ clipboard: undefined });
		this.#mayUseClipboard = isAllowed;
		if (isAllowed && clipboard !== undefined) void navigator.clipboard.writeText(clipboard).catch(() => {});
	}

	async takeOver(): Promise<void> {
		this.focus();
		await this.#attachment.take({ exclusive: true, force: true });
		this.#fitting.activate();
	}

	async releaseControl(): Promise<void> {
		this.focus();
		await this.#attachment.release();
	}

	/** Resizes the session to this window, regardless of other writers. */
	useOwnSize(): void {
		this.#fitting.activate();
		const { room, session } = this.#state.value;
		if (room && session.sizePolicy === "manual") this.#attachment.resize(room).catch(() => {});
	}

	/** While held, the terminal keeps its size, whatever the window's. */
	holdSize(isHeld: boolean): void {
		this.#fitting.hold(isHeld);
	}

	focus(): void {
		this.emulator.xterm.focus();
	}

	scrollToEnd(): void {
		this.emulator.xterm.scrollToBottom();
		this.focus();
	}

	/** All loaded text. */
	get text(): string {
		return this.emulator.text;
	}

	reconnectNow(): void {
		this.#attachment.reconnect();
	}

	restyle(fontSize: number): void {
		this.emulator.restyle(fontSize);
		this.#fitting.measure();
	}

	/** Loads output from an earlier byte on; by default the oldest available within the limit. */
	showFrom(offset?: number): Promise<void> {
		return this.#inTurn(() => this.#replay(offset));
	}

	async dispose(): Promise<void> {
		this.#disposed.abort();
		this.#redrawing?.stop();
		this.#fitting.dispose();
		await this.#attachment.detach();
		this.emulator.dispose();
	}

	#listen(parent: HTMLElement): void {
		const { xterm } = this.emulator;
		xterm.options.disableStdin = !this.#options.canType || this.#options.session.snapshot.mode === "pipe";
		xterm.onData((data) => {
			if (isFocusOrMouseReport(data) && !this.#fitting.isEngaged) return;
			this.type(this.modify(data));
		});
		xterm.onBinary((data) => this.type(Uint8Array.from(data, (character) => character.charCodeAt(0))));
		xterm.onCursorMove(() => {
			if (!this.#state.value.isScrolledBack) this.#fitting.followCursor();
		});
		xterm.onTitleChange((title) => this.#change({ title }));
		xterm.onScroll(() => this.#scrolled());
		xterm.attachCustomKeyEventHandler((event) => this.#keyPressed(event));
		xterm.attachCustomWheelEventHandler(({ deltaY }) => {
			if (deltaY < 0) this.#scrolled();
			return true;
		});
		xterm.parser.registerOscHandler(52, (data) => {
			this.#clipboardWanted(data);
			return true;
		});
		// Runs before xterm.js's own handler, which neither asks nor drops control characters.
		parent.addEventListener(
			"paste",
			(event) => {
				event.preventDefault();
				event.stopPropagation();
				this.paste(event.clipboardData?.getData("text/plain") ?? "");
			},
			{ capture: true },
		);
	}

	#keyPressed(event: KeyboardEvent): boolean {
		const key = ownKey(event, /Mac|iPhone|iPad/.test(navigator.platform));
		if (key === undefined) {
			// A read-only terminal reports no keys. Viewers should learn why typing has no effect.
			if (event.type === "keydown" && event.key.length === 1 && !this.#options.canType) this.#refused();
			return true;
		}
		if (event.type !== "keydown") return false;
		// Lets the browser paste, which needs no permission and triggers the listener above.
		if (key === "paste") return false;
		event.preventDefault();
		if (key === "copy") void navigator.clipboard.writeText(this.emulator.xterm.getSelection()).catch(() => {});
		else if (key === "previous-command") this.#goToEarlierCommand();
		else if (key === "next-command") this.emulator.marks.go("next");
		else this.#options.onKey(key);
		return false;
	}

	#goToEarlierCommand(): void {
		const isKnown = this.emulator.marks.go("previous");
		this.#change({ unknownCommandAt: isKnown ? undefined : performance.now() });
	}

	async #show(): Promise<void> {
		try {
			for await (const event of this.#attachment) await this.#inTurn(() => this.#handle(event));
		} catch (error) {
			const known = error instanceof HawserError ? error : new HawserError("internal", String(error));
			this.#change({ connection: { kind: "over", error: known } });
		}
	}

	async #handle(event: AttachmentEvent): Promise<void> {
		switch (event.kind) {
			case "screen":
				await this.#draw(event);
				return;
			case "output":
				this.#loadedFrom ??= this.#options.session.snapshot.mode === "pipe" ? event.offset : undefined;
				await this.emulator.write(event.stream === "stderr" ? asError(event.bytes) : event.bytes);
				this.#change({ offset: event.offset + event.bytes.byteLength });
				return;
			case "gap":
				await this.#onGap(event);
				return;
			case "resized":
				await this.#resize(event);
				return;
			case "lease":
				this.#leaseChanged(event.lease);
				return;
			case "exited":
			case "closed":
			case "lost":
				await this.emulator.drained();
				// The server knows the exact end time.
				this.#change({ isEnded: true, session: await this.#ended(event) });
				if (event.kind !== "exited") this.#redrawing?.retryIfNeeded();
				return;
			case "connection":
				if (event.state === "connected") this.#redrawing?.retryIfNeeded();
				return;
			case "replies":
			case "refused":
		}
	}

	async #ended(event: Extract<AttachmentEvent, { kind: "exited" | "closed" | "lost" }>): Promise<SessionMessage> {
		const { session } = this.#state.value;
		const known = { ...session, state: event.kind, ...(event.kind === "exited" ? { exit: event.exit } : {}) };
		return this.#options.session.info().catch(() => known);
	}

	#connectionChanged(event: ConnectionEvent): void {
		const { canType } = this.#options;
		this.#change(applyConnection(this.#state.value, event, { canType, now: performance.now() }));
	}

	#leaseChanged(lease: Lease): void {
		if (!this.#options.canType) return;
		const hasTyped = this.#fitting.isEngaged;
		this.#change(applyLease(this.#state.value, lease, { hasTyped, now: performance.now() }));
	}

	async #onGap(gap: Gap): Promise<void> {
		const { missedBytes } = this.#state.value;
		this.#change({ missedBytes: missedBytes + gap.to - gap.from, offset: gap.to });
		await this.emulator.drained();
		if (this.emulator.xterm.buffer.active.type === "normal") await this.emulator.write(this.#gapLine(gap));
		if (gap.reason === "live") this.#redrawing?.onSkipped();
	}

	async #draw({ isFirst, bytes, ...size }: Extract<AttachmentEvent, { kind: "screen" }>): Promise<void> {
		if (isFirst) {
			this.#redrawing?.onDrawn();
			this.#loadedFrom = undefined;
			await this.#resize(size);
			await this.emulator.write(CLEAR_SCROLLBACK);
		}
		await this.emulator.write(bytes);
	}

	#redraw(): void {
		const { state } = this.#state.value.session;
		if (state === "closed" || state === "lost") this.#inTurn(() => this.#drawFinalScreen()).catch(() => {});
		else this.#attachment.reconnect({ from: "screen", scrollback: SCROLLBACK_ROWS });
	}

	/** Shows the final screen of an ended session; the attachment has ended, too. A deleted session has none. */
	async #drawFinalScreen(): Promise<void> {
		const attachment = this.#options.session.attach({
			from: "screen",
			scrollback: SCROLLBACK_ROWS,
			since: "end",
			role: "viewer",
			signal: this.#disposed.signal,
		});
		for await (const event of attachment) {
			if (event.kind === "screen") await this.#draw(event);
		}
		this.#redrawing?.retryIfNeeded();
	}

	#gapLine(gap: Gap): string {
		return `\r\n\u001b[0;2m\u2504\u2504\u2504 ${this.#options.describeGap(gap)} \u2504\u2504\u2504\u001b[0m\r\n`;
	}

	async #resize({ cols, rows }: Size): Promise<void> {
		await this.emulator.resize({ cols, rows });
		this.#change({ size: { cols, rows }, room: this.emulator.availableSize });
	}

	#refused(): void {
		this.#change({ refusedKeys: this.#state.value.refusedKeys + 1 });
	}

	#scrolled(): void {
		const { viewportY, baseY } = this.emulator.xterm.buffer.active;
		const isScrolledBack = viewportY < baseY;
		if (isScrolledBack !== this.#state.value.isScrolledBack) this.#change({ isScrolledBack });
		if (viewportY === 0 && isScrolledBack) void this.showFrom();
	}

	#clipboardWanted(data: string): void {
		const text = clipboardText(data);
		if (text === undefined || text === "") return;
		this.#change({ clipboard: text });
		if (this.#mayUseClipboard) this.confirmClipboard(true);
	}

	async #replay(wanted: number | undefined): Promise<void> {
		const { session } = this.#options;
		const oldest = this.#state.value.session.offsets?.oldest ?? 0;
		const to = this.#attachment.offset;
		if (to === undefined || (this.#loadedFrom ?? to) <= oldest || this.#state.value.connection.kind !== "live") return;
		this.#loadedFrom = await replay(this.emulator, session, {
			wanted,
			loadedFrom: this.#loadedFrom,
			oldest,
			to,
			gapLine: (gap) => this.#gapLine(gap),
		});
		this.#redrawing?.onDrawn();
		this.#change({ size: { cols: this.emulator.xterm.cols, rows: this.emulator.xterm.rows } });
	}

	#inTurn(work: () => Promise<void>): Promise<void> {
		const done = this.#turn.then(work);
		this.#turn = done.catch(() => {});
		return done;
	}

	#change(change: Partial<TerminalState>): void {
		this.#state.value = { ...this.#state.value, ...change };
	}
}

/** Red, and italic for color-blind users. */
function asError(bytes: Uint8Array): Uint8Array {
	const before = new TextEncoder().encode("\u001b[31;3m");
	const after = new TextEncoder().encode("\u001b[39;23m");
	const all = new Uint8Array(before.length + bytes.length + after.length);
	all.set(before);
	all.set(bytes, before.length);
	all.set(after, before.length + bytes.length);
	return all;
}
