/**
 * A session in a terminal of the page: what its program writes is shown, what is typed goes to it.
 *
 * It begins with what the session's terminal shows. Looking changes nothing: the session is told our size, and reports of
 * focus and mouse are sent, from the first key on.
 */

import { type ReadonlySignal, signal } from "@preact/signals-core";
import type { Attachment, AttachmentEvent, ConnectionEvent, Session, SessionMessage } from "hawser/client";
import { HawserError } from "hawser/client";
import { clipboardText } from "./clipboard.ts";
import { Emulator, type Size } from "./emulator.ts";
import { Fitting } from "./fitting.ts";
import { type Gap, replay } from "./history.ts";
import { isReport, type OwnKey, ownKey } from "./keys.ts";
import { asOneLine, isRisky, pasted } from "./paste.ts";
import { Redrawing } from "./redrawing.ts";
import { connectionNews, type Lease, leaseNews, stateOf, type TerminalState } from "./terminal-state.ts";

export type TerminalOptions = {
	/** Of which the server has told. */
	readonly session: Session & { readonly snapshot: SessionMessage };
	readonly canType: boolean;
	/** Whether the session never gets our size, such as in a tile. */
	readonly keepsSize?: boolean;
	readonly fontSize: number;
	readonly isForReaders: boolean;
	readonly mayUseClipboard: boolean;
	/** The line that stands for bytes that are missing. */
	readonly describeGap: (gap: Gap) => string;
	/** One of our own keys was pressed that is not the terminal's to deal with. */
	readonly onKey: (key: OwnKey) => void;
};

/** How many rows of what was scrolled away come with the screen: as many as a server gives. */
const SCROLLBACK_ROWS = 200;
/** Of a program on pipes, which has no screen: so much of its output is read at first. */
const PIPE_BYTES = 256 * 1024;
/** Forgets what was scrolled away, with its gaps: a screen comes with its own, which would be there twice. */
const WITHOUT_HISTORY = "\u001b[?1049l\u001b[3J";

export class SessionTerminal {
	readonly emulator: Emulator;
	/** Changes what is typed, such as by keys that are held on the screen. */
	modify: (typed: string) => string = (typed) => typed;
	readonly #options: TerminalOptions;
	readonly #attachment: Attachment;
	readonly #state;
	readonly #fitting: Fitting;
	/** Of a program on pipes, which has no screen, there is nothing to redraw. */
	readonly #redrawing: Redrawing | undefined;
	/** Whatever changes the terminal is done one after the other. */
	#turn: Promise<void> = Promise.resolve();
	/** Where the output that it has begins; unknown while it began with the screen. */
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
			isForReaders: options.isForReaders,
			hasBareNewlines: snapshot.mode === "pipe",
		});
		this.#state = signal(stateOf(snapshot, this.emulator.room, canType));
		this.#attachment = session.attach({
			from: "screen",
			scrollback: SCROLLBACK_ROWS,
			since: Math.max(snapshot.offsets.oldest, snapshot.offsets.end - PIPE_BYTES),
			role: canType ? "writer" : "viewer",
			// A page in the background must not slow a program down; what it skips is drawn anew.
			flow: "live",
			onConnection: (event) => this.#connectionChanged(event),
		});
		const isOurs = !options.keepsSize && snapshot.mode === "pty";
		this.#fitting = new Fitting(parent, this.emulator, {
			onRoom: (room) => this.#change({ room }),
			tell: isOurs ? (size) => this.#attachment.setSize(size) : undefined,
		});
		this.#redrawing = snapshot.mode === "pty" ? new Redrawing(() => this.#redraw()) : undefined;
		this.#listen(parent);
		void this.#show();
	}

	get state(): ReadonlySignal<TerminalState> {
		return this.#state;
	}

	/** As if it were typed. */
	type(text: string | Uint8Array): void {
		if (!this.#options.canType) {
			this.#refused();
			return;
		}
		this.#fitting.engage();
		const began = performance.now();
		const { connection } = this.#state.value;
		this.#attachment.write(text).then(
			() => {
				// What waited for another connection tells how long that took.
				if (this.#state.value.connection === connection) this.#change({ latencyMs: performance.now() - began });
			},
			() => this.#refused(),
		);
	}

	/** The program's input is at its end. */
	endInput(): void {
		this.#attachment.eof().catch(() => this.#refused());
	}

	/** From the clipboard: asks first where each line would be taken by itself. */
	paste(text: string): void {
		if (text === "") return;
		const { bracketedPasteMode } = this.emulator.xterm.modes;
		if (isRisky(text, bracketedPasteMode)) this.#change({ paste: text });
		else this.type(pasted(text, bracketedPasteMode));
	}

	/** What becomes of the text that awaits a yes. */
	confirmPaste(how: "as-it-is" | "as-one-line" | "not"): void {
		const { paste = "" } = this.#state.value;
		this.#change({ paste: undefined });
		if (how !== "not") this.type(pasted(how === "as-one-line" ? asOneLine(paste) : paste, false));
		this.emulator.xterm.focus();
	}

	/** Lets the program put text on the clipboard, now and later; or not. */
	confirmClipboard(isAllowed: boolean): void {
		const { clipboard } = this.#state.value;
		this.#change({ clipboard: undefined });
		this.#mayUseClipboard = isAllowed;
		if (isAllowed && clipboard !== undefined) void navigator.clipboard.writeText(clipboard).catch(() => {});
	}

	async takeOver(): Promise<void> {
		this.focus();
		await this.#attachment.take({ exclusive: true, force: true });
		this.#fitting.engage();
	}

	async handBack(): Promise<void> {
		this.focus();
		await this.#attachment.release();
	}

	/** Makes the session as large as our window, whoever types. */
	useOwnSize(): void {
		this.#fitting.engage();
		const { room, session } = this.#state.value;
		if (room && session.sizePolicy === "manual") this.#attachment.resize(room).catch(() => {});
	}

	focus(): void {
		this.emulator.xterm.focus();
	}

	scrollToEnd(): void {
		this.emulator.xterm.scrollToBottom();
		this.focus();
	}

	/** All that is loaded. */
	get text(): string {
		return this.emulator.text;
	}

	tryNow(): void {
		this.#attachment.reconnect();
	}

	restyle(fontSize: number): void {
		this.emulator.restyle(fontSize);
		this.#fitting.look();
	}

	/** Shows the output from an earlier byte on; from as early as there is, and not too much of it, if none is given. */
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
			if (isReport(data) && !this.#fitting.isEngaged) return;
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
		// Before xterm's own, which would neither ask nor leave out control characters.
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
			// A terminal that takes no input says nothing of keys: who watches should learn why nothing happens.
			if (event.type === "keydown" && event.key.length === 1 && !this.#options.canType) this.#refused();
			return true;
		}
		if (event.type !== "keydown") return false;
		// The browser's own "paste" is wanted: it needs no permission, and ends up in our listener.
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
				await this.#skipped(event);
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
				await this.emulator.settled();
				// When it ended, the server knows best.
				this.#change({ isEnded: true, session: await this.#ended(event) });
				if (event.kind !== "exited") this.#redrawing?.mayBeInVain();
				return;
			case "connection":
				if (event.state === "connected") this.#redrawing?.mayBeInVain();
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
		this.#change(connectionNews(this.#state.value, event, { canType, now: performance.now() }));
	}

	#leaseChanged(lease: Lease): void {
		if (!this.#options.canType) return;
		const hasTyped = this.#fitting.isEngaged;
		this.#change(leaseNews(this.#state.value, lease, { hasTyped, now: performance.now() }));
	}

	async #skipped(gap: Gap): Promise<void> {
		const { missedBytes } = this.#state.value;
		this.#change({ missedBytes: missedBytes + gap.to - gap.from, offset: gap.to });
		await this.emulator.settled();
		if (this.emulator.xterm.buffer.active.type === "normal") await this.emulator.write(this.#gapLine(gap));
		if (gap.reason === "live") this.#redrawing?.skipped();
	}

	async #draw({ isFirst, bytes, ...size }: Extract<AttachmentEvent, { kind: "screen" }>): Promise<void> {
		if (isFirst) {
			this.#redrawing?.drawn();
			this.#loadedFrom = undefined;
			await this.#resize(size);
			await this.emulator.write(WITHOUT_HISTORY);
		}
		await this.emulator.write(bytes);
	}

	#redraw(): void {
		const { state } = this.#state.value.session;
		if (state === "closed" || state === "lost") this.#inTurn(() => this.#drawLast()).catch(() => {});
		else this.#attachment.reconnect({ from: "screen", scrollback: SCROLLBACK_ROWS });
	}

	/** What a session that is over shows: our attachment is over, too. Of one that was removed meanwhile nothing more can be had. */
	async #drawLast(): Promise<void> {
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
		this.#redrawing?.mayBeInVain();
	}

	#gapLine(gap: Gap): string {
		return `\r\n\u001b[0;2m\u2504\u2504\u2504 ${this.#options.describeGap(gap)} \u2504\u2504\u2504\u001b[0m\r\n`;
	}

	async #resize({ cols, rows }: Size): Promise<void> {
		await this.emulator.resize({ cols, rows });
		this.#change({ size: { cols, rows }, room: this.emulator.room });
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
		const { oldest } = this.#state.value.session.offsets;
		const to = this.#attachment.offset;
		if (to === undefined || (this.#loadedFrom ?? to) <= oldest || this.#state.value.connection.kind !== "live") return;
		this.#loadedFrom = await replay(this.emulator, session, {
			wanted,
			loadedFrom: this.#loadedFrom,
			oldest,
			to,
			gapLine: (gap) => this.#gapLine(gap),
		});
		this.#redrawing?.drawn();
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

/** In red, and slanted for those who do not see red. */
function asError(bytes: Uint8Array): Uint8Array {
	const before = new TextEncoder().encode("\u001b[31;3m");
	const after = new TextEncoder().encode("\u001b[39;23m");
	const all = new Uint8Array(before.length + bytes.length + after.length);
	all.set(before);
	all.set(bytes, before.length);
	all.set(after, before.length + bytes.length);
	return all;
}
