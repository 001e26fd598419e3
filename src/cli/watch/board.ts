/** The table in somebody's hands: what is typed, and what is done by it. */

import {
	type Client,
	type DecideApproval,
	decideHeld,
	giveAnswer,
	type HawserError,
	hasChangedSince,
	isEnded,
	type Listed,
	LiveSessions,
} from "../../client/index.ts";
import { explain } from "../errors.ts";
import { codeOfSignal } from "../local-terminal.ts";
import { safeLine } from "../safe-text.ts";
import { Deciding } from "./deciding.ts";
import { frameOf, roomFor } from "./frame.ts";
import type { Key } from "./keys.ts";
import { LineField } from "./line-field.ts";
import type { Notifier } from "./notifier.ts";
import { nameOf, type Row } from "./rows.ts";
import { LIST, type Mode, type ModeOf, type Notice, sceneOf } from "./scene.ts";
import { Surface } from "./surface.ts";
import { View, type ViewOptions } from "./view.ts";

export type BoardOptions = ViewOptions & {
	readonly client: Client;
	/** Makes what tells somebody who does not look. */
	readonly notifier:
		| ((ring: (sequence: string) => void, onTrouble: (sentence: string) => void) => Notifier)
		| undefined;
	/** Gives our terminal to a session until that has given it back; resolves with the signal that wants us gone, if one does. */
	readonly open: (session: Listed) => Promise<NodeJS.Signals | undefined>;
};

/** How long it is said what became of something. */
const NOTICE_MS = 4_000;
/** Between two keys of one answer, of somebody who does not look, in milliseconds. */
const TYPING_MS = 700;
/** At most so often something is drawn that nobody has typed. */
const DRAW_MS = 50;
/** Ages change together: every second while one is counted in seconds, and seldom else. */
const QUICK_MS = 1_000;
const CALM_MS = 10_000;
const MINUTE_MS = 60_000;

export class Board {
	readonly #options: BoardOptions;
	readonly #live: LiveSessions;
	readonly #surface: Surface;
	readonly #notifier: Notifier | undefined;
	readonly #view: View;
	/** Those that are being answered now. */
	readonly #answering = new Set<string>();
	#mode: Mode = LIST;
	/** When the last key was pressed of an answer for which there was no question; by the monotonic clock. */
	#unansweredAt = Number.NEGATIVE_INFINITY;
	/** `until` is by the monotonic clock. */
	#notice: (Notice & { readonly until: number }) | undefined;
	#drawTimer: NodeJS.Timeout | undefined;
	#tickTimer: NodeJS.Timeout | undefined;
	#shownTitle = "";
	#end: (code: number) => void = () => {};
	#fail: (error: unknown) => void = () => {};

	constructor(options: BoardOptions) {
		this.#options = options;
		this.#view = new View(options);
		this.#live = new LiveSessions(options.client, {
			onChange: () => this.#drawSoon(),
			onRefused: (error: HawserError) => this.#fail(error),
		});
		this.#surface = new Surface({
			onKeys: (keys) => this.#press(keys),
			onSize: () => this.#draw(),
			onEnding: (signal) => this.#end(codeOfSignal(signal)),
		});
		this.#notifier = options.notifier?.(
			(sequence) => this.#surface.send(sequence),
			(sentence) => this.#say(sentence, true),
		);
	}

	/** Until somebody leaves; resolves with the exit code. */
	async run(): Promise<number> {
		const ended = new Promise<number>((resolve, reject) => {
			this.#end = resolve;
			this.#fail = reject;
		});
		this.#surface.open();
		this.#live.follow();
		try {
			return await ended;
		} finally {
			// First, for it has something drawn.
			this.#live.stop();
			clearTimeout(this.#drawTimer);
			clearTimeout(this.#tickTimer);
			this.#notifier?.end();
			this.#surface.close();
		}
	}

	#drawSoon(): void {
		this.#drawTimer ??= setTimeout(() => this.#draw(), DRAW_MS);
	}

	#draw(): void {
		clearTimeout(this.#drawTimer);
		this.#drawTimer = undefined;
		const now = Date.now();
		const view = this.#view;
		const isHeld = this.#isIn("answer") || this.#isIn("decide") || this.#isIn("stop");
		const needing = view.arrange(this.#live, { now, isHeld });
		// What the first list has is no news.
		if (this.#live.connection.kind !== "loading") this.#notifier?.look(needing);
		const { size } = this.#surface;
		if (this.#notice && this.#notice.until <= performance.now()) this.#notice = undefined;
		const scene = sceneOf({ mode: this.#mode, view, live: this.#live, notice: this.#notice, size, now });
		this.#surface.draw(frameOf(scene));
		this.#showTitle();
		this.#tickAfter(now, view.rows.slice(scene.top, scene.top + roomFor(size)));
	}

	#showTitle(): void {
		const { needing } = this.#view.counts;
		const title = needing === 0 ? "hawser watch" : `(${needing}) hawser watch`;
		if (title === this.#shownTitle || !this.#surface.isOpen) return;
		this.#shownTitle = title;
		this.#surface.send(`\u001b]2;${title}\u0007`);
	}

	/** When something changes by time alone. */
	#tickAfter(now: number, rows: readonly Row[]): void {
		const isQuick =
			this.#live.connection.kind === "cut" ||
			this.#notice !== undefined ||
			this.#view.isHeld ||
			rows.some(({ since, word }) => word === "active" || (since !== undefined && now - since < MINUTE_MS)) ||
			rows.some(({ need }) => need?.kind === "approval" && need.approval.expiresAt - now < MINUTE_MS);
		clearTimeout(this.#tickTimer);
		this.#tickTimer = setTimeout(() => this.#draw(), isQuick ? QUICK_MS : CALM_MS);
	}

	#press(keys: readonly Key[]): void {
		this.#view.touch();
		for (const key of keys) {
			if (this.#swallows(key)) continue;
			const was = this.#mode.kind;
			this.#pressOne(key);
			// What was typed together with an answer is not for the table.
			if ((was === "answer" || was === "decide") && this.#isIn("list")) break;
			// Nor does it decide on what nobody has seen yet.
			if (was === "list" && this.#isIn("decide")) break;
			if (!this.#surface.isOpen) return;
		}
		this.#draw();
	}

	#isIn(kind: Mode["kind"]): boolean {
		return this.#mode.kind === kind;
	}

	#pressOne(key: Key): void {
		const mode = this.#mode;
		const isKey = (name: string) => key.kind === "key" && key.value === name;
		if (isKey("C-z")) this.#surface.suspend();
		else if (mode.kind === "answer") this.#pressInAnswer(mode, key);
		else if (mode.kind === "decide") this.#pressInDecision(mode, key);
		else if (mode.kind === "filter") this.#pressInFilter(mode, key);
		else if (mode.kind === "list") this.#pressInList(key);
		else {
			// Any key leaves the help, and every one but this is a no.
			this.#mode = LIST;
			if (mode.kind === "stop" && key.value.toLowerCase() === "y") void this.#stop(mode.session);
		}
	}

	#pressInList({ kind, value }: Key): void {
		if (kind === "paste") return;
		const view = this.#view;
		const page = roomFor(this.#surface.size);
		const acts: Readonly<Record<string, () => void>> = {
			Up: () => view.move(-1),
			k: () => view.move(-1),
			Down: () => view.move(1),
			j: () => view.move(1),
			PageUp: () => view.move(-page),
			PageDown: () => view.move(page),
			Home: () => view.move(-view.rows.length),
			g: () => view.move(-view.rows.length),
			End: () => view.move(view.rows.length),
			G: () => view.move(view.rows.length),
			Enter: () => this.#answer(),
			a: () => this.#answer(),
			y: () => this.#decide("grant"),
			n: () => this.#decide("deny"),
			o: () => void this.#open(),
			x: () => this.#askToStop(),
			d: () => this.#dismiss(),
			m: () => view.change({ isNeeding: !view.isNeeding }),
			"/": () => {
				this.#mode = { kind: "filter", field: new LineField(view.query), before: view.query };
			},
			Escape: () => view.change({ query: "" }),
			"?": () => {
				this.#mode = { kind: "help" };
			},
			"C-l": () => this.#surface.redraw(),
			q: () => this.#end(0),
			"C-c": () => this.#end(codeOfSignal("SIGINT")),
		};
		acts[value]?.();
	}

	#pressInFilter({ field, before }: ModeOf<"filter">, key: Key): void {
		const isKey = (...names: readonly string[]) => key.kind === "key" && names.includes(key.value);
		if (isKey("Enter")) this.#mode = LIST;
		else if (isKey("Escape", "C-c")) {
			this.#mode = LIST;
			this.#view.change({ query: before });
		} else {
			field.press(key);
			this.#view.find(field.text);
		}
		// What is typed next, even in one piece with this, is for the rows that are left.
		this.#draw();
		this.#view.touch();
	}

	#pressInAnswer(mode: ModeOf<"answer">, key: Key): void {
		if (key.kind === "key" && (key.value === "Escape" || key.value === "C-c")) this.#mode = LIST;
		else if (key.kind === "key" && key.value === "Enter") {
			this.#mode = LIST;
			void this.#give(mode);
		} else mode.field.press(key);
	}

	#pressInDecision(mode: ModeOf<"decide">, key: Key): void {
		const hasChanged = hasChangedSince(mode.deciding.approval, this.#live.all.get(mode.session.id));
		const outcome = mode.deciding.press(key, hasChanged);
		if (outcome) this.#mode = LIST;
		if (outcome === "decided") void this.#settle(mode);
	}

	#decide(decision: DecideApproval["decision"]): void {
		const { session, need } = this.#view.row ?? {};
		if (!session) return;
		if (need?.kind !== "approval") this.#say(`nothing waits to be approved in ${nameOf(session)}`, true);
		else this.#mode = { kind: "decide", session, deciding: new Deciding(need.approval, decision) };
	}

	async #settle({ session, deciding: { approval, decision } }: ModeOf<"decide">): Promise<void> {
		const { id } = approval;
		try {
			const late = await decideHeld(this.#options.client, id, decision);
			this.#live.decided(id);
			if (late !== undefined) return this.#say(`Too late, nothing was done: ${late}.`, true);
			this.#say(`${decision.decision === "grant" ? "Approved" : "Denied"}: ${nameOf(session)}.`, false);
		} catch (error) {
			this.#sayWhy(error);
		}
	}

	#answer(): void {
		const { session, need } = this.#view.row ?? {};
		const waiting = session?.overview?.waiting;
		if (session && waiting && need?.kind !== "approval" && !isEnded(session)) {
			this.#mode = { kind: "answer", session, waiting, field: new LineField() };
			return;
		}
		this.#unansweredAt = performance.now();
		if (need?.kind === "approval") this.#say("y approves it, n denies it; all of it is shown first", false);
		else if (session) this.#say(`${nameOf(session)} waits for no answer; o opens it`, true);
	}

	/** Whether it is typed right after an Enter on a row that takes no answer: it was meant as one, and is no command. */
	#swallows({ kind, value }: Key): boolean {
		const now = performance.now();
		const isTyped = kind !== "key" || value === "Enter";
		const isLate = this.#isIn("list") && isTyped && now - this.#unansweredAt < TYPING_MS;
		this.#unansweredAt = isLate ? now : Number.NEGATIVE_INFINITY;
		return isLate;
	}

	async #give({ session, waiting, field }: ModeOf<"answer">): Promise<void> {
		const { id, mode } = session;
		// Two Enters are one answer.
		if (this.#answering.has(id)) return;
		this.#answering.add(id);
		const name = nameOf(session);
		try {
			const isTaken = await giveAnswer(this.#options.client.sessions.at(id), { mode, waiting }, field.text);
			if (!isTaken) return this.#say(`Not sent: ${name} asks something else now, or nothing.`, true);
			this.#live.answered(id);
			const what = waiting.kind === "secret" ? "The secret" : safeLine(JSON.stringify(field.text));
			this.#say(`${what} was sent, ${name} took it.`, false);
		} catch (error) {
			this.#sayWhy(error);
		} finally {
			this.#answering.delete(id);
		}
	}

	#askToStop(): void {
		const session = this.#view.row?.session;
		if (!session) return;
		if (isEnded(session)) this.#say(`${nameOf(session)} has ended`, true);
		else this.#mode = { kind: "stop", session };
	}

	async #stop(session: Listed): Promise<void> {
		try {
			this.#say(`Stopping ${nameOf(session)}…`, false);
			await this.#options.client.sessions.at(session.id).kill();
			this.#say(`${nameOf(session)} was stopped.`, false);
		} catch (error) {
			this.#sayWhy(error);
		}
	}

	/** What waits for an answer is not dismissed: it is answered, or stopped. */
	#dismiss(): void {
		const row = this.#view.row;
		const kind = row?.need?.kind;
		if (!row || (kind !== "failed" && kind !== "quiet")) return;
		this.#view.dismiss(row.session);
		this.#say(`${row.name} is dismissed.`, false);
	}

	async #open(): Promise<void> {
		const session = this.#view.row?.session;
		if (!session) return;
		this.#surface.close();
		try {
			const signal = await this.#options.open(session);
			if (signal !== undefined) this.#end(codeOfSignal(signal));
		} catch (error) {
			this.#sayWhy(error);
		} finally {
			this.#shownTitle = "";
			this.#surface.open();
		}
	}

	#sayWhy(error: unknown): void {
		const explained = explain(error);
		if (explained) this.#say(explained.sentence, true);
		else this.#fail(error);
	}

	#say(sentence: string, isBad: boolean): void {
		this.#notice = { text: safeLine(sentence), isBad, until: performance.now() + NOTICE_MS };
		this.#drawSoon();
	}
}
