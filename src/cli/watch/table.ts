/** The interactive table: handles keys and runs their commands. */

import {
	type AgentMessage,
	answerDialog,
	answerPrompt,
	type Client,
	type DecideApproval,
	decideApproval,
	type HawserError,
	hasOutputSince,
	isEnded,
	LiveSessions,
	type Session,
	type SessionInfo,
} from "../../client/index.ts";
import { checkOutside } from "../connect/outside-session.ts";
import { toUserError } from "../print/errors.ts";
import { safeLine } from "../print/safe-text.ts";
import { FullScreen } from "../terminal/full-screen.ts";
import type { Key } from "../terminal/key-reader.ts";
import { signalExitCode } from "../terminal/local-terminal.ts";
import { ApprovalReview } from "./approval-review.ts";
import { DialogReview, type GivenAnswer } from "./dialog-review.ts";
import { LineEditor } from "./line-editor.ts";
import { frameState, LIST, type Mode, type ModeOf, type Notice } from "./modes.ts";
import type { Notifier } from "./notifier.ts";
import { renderFrame, visibleRows } from "./render.ts";
import { nameOf, type Row } from "./rows.ts";
import { type TableOptions, TableState } from "./table-state.ts";

type BoardOptions = TableOptions & {
	readonly client: Client;
	/** Whether the server is on this machine. */
	readonly isLocal: boolean;
	/** Creates the notifier. */
	readonly notifier: ((ring: (sequence: string) => void, onTrouble: (message: string) => void) => Notifier) | undefined;
	/** Hands the terminal to a session until the user detaches. Resolves with a termination signal, if one arrived. */
	readonly open: (session: SessionInfo) => Promise<NodeJS.Signals | undefined>;
};

/** How long a notice is displayed. */
const NOTICE_MS = 4_000;
/** How long a row shows the outcome of its answer. An error takes longer to read. */
const OUTCOME_MS = 4_000;
const ERROR_MS = 8_000;
/** A number answers a dialog only if it was displayed for this long, so that it does not answer the next one. */
const READ_MS = 500;
/** Maximum time between two keys of an answer typed without looking, in milliseconds. */
const TYPING_MS = 700;
/** Minimum time between redraws not caused by a key. */
const DRAW_MS = 50;
/** Interval for updating ages: one second if one shows seconds, else longer. */
const FAST_TICK_MS = 1_000;
const SLOW_TICK_MS = 10_000;
const MINUTE_MS = 60_000;

/** Modes in which a user types an answer. */
const ANSWERING: ReadonlySet<Mode["kind"]> = new Set(["answer", "choose", "decide", "prompt"]);

export class WatchTable {
	readonly #options: BoardOptions;
	readonly #live: LiveSessions;
	readonly #surface: FullScreen;
	readonly #notifier: Notifier | undefined;
	readonly #view: TableState;
	/** Sessions with an answer in flight. */
	readonly #answering = new Set<string>();
	#mode: Mode = LIST;
	/** The dialog of the selected row, and since when it is displayed (monotonic). */
	#shownDialog: { readonly key: string; readonly since: number } | undefined;
	/** Monotonic time of the last key typed as an answer while there was no question. */
	#unansweredAt = Number.NEGATIVE_INFINITY;
	/** `until` is monotonic time. */
	#notice: (Notice & { readonly until: number }) | undefined;
	#drawTimer: NodeJS.Timeout | undefined;
	#tickTimer: NodeJS.Timeout | undefined;
	#shownTitle = "";
	#end: (code: number) => void = () => {};
	#fail: (error: unknown) => void = () => {};

	constructor(options: BoardOptions) {
		this.#options = options;
		this.#view = new TableState(options);
		this.#live = new LiveSessions(options.client, {
			onChange: () => this.#drawSoon(),
			onRefused: (error: HawserError) => this.#fail(error),
		});
		this.#surface = new FullScreen({
			onKeys: (keys) => this.#press(keys),
			onSize: () => this.#draw(),
			onTerminate: (signal) => this.#end(signalExitCode(signal)),
		});
		this.#notifier = options.notifier?.(
			(sequence) => this.#surface.send(sequence),
			(message) => this.#say(message, true),
		);
	}

	/** Runs until the user quits. Resolves with the exit code. */
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
			// Stop this first, because it triggers redraws.
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
		const isHeld = !this.#isIn("list") && !this.#isIn("filter") && !this.#isIn("help");
		const needing = view.update(this.#live, { now, isHeld });
		// Needs in the first list are not new.
		if (this.#live.connection.kind !== "loading") this.#notifier?.look(needing, this.#live);
		if (this.#mode.kind === "choose") {
			const { session, dialog } = this.#mode;
			dialog.update(this.#live.all.get(session.id)?.overview?.agent);
		}
		const { size } = this.#surface;
		if (this.#notice && this.#notice.until <= performance.now()) this.#notice = undefined;
		const scene = frameState({ mode: this.#mode, view, live: this.#live, notice: this.#notice, size, now });
		this.#surface.draw(renderFrame(scene));
		this.#noteDialog();
		this.#showTitle();
		this.#tickAfter(now, view.rows.slice(scene.top, scene.top + visibleRows(size)));
	}

	/** Notes when the dialog of the selected row was first displayed. */
	#noteDialog(): void {
		const dialog = this.#isIn("list") ? dialogOf(this.#view.row) : undefined;
		const key = dialog && `${this.#view.row?.session.id} ${dialog.episode}`;
		if (key === undefined) this.#shownDialog = undefined;
		else if (key !== this.#shownDialog?.key) this.#shownDialog = { key, since: performance.now() };
	}

	#showTitle(): void {
		const { needing } = this.#view.counts;
		const title = needing === 0 ? "hawser watch" : `(${needing}) hawser watch`;
		if (title === this.#shownTitle || !this.#surface.isOpen) return;
		this.#shownTitle = title;
		this.#surface.send(`\u001b]2;${title}\u0007`);
	}

	/** Schedules the next update that only time causes. */
	#tickAfter(now: number, rows: readonly Row[]): void {
		const isQuick =
			this.#live.connection.kind === "disconnected" ||
			this.#notice !== undefined ||
			this.#view.hasNotes ||
			this.#view.isHeld ||
			rows.some(({ since, word }) => word === "active" || (since !== undefined && now - since < MINUTE_MS)) ||
			rows.some(({ need }) => need?.kind === "approval" && need.approval.expiresAt - now < MINUTE_MS);
		clearTimeout(this.#tickTimer);
		this.#tickTimer = setTimeout(() => this.#draw(), isQuick ? FAST_TICK_MS : SLOW_TICK_MS);
	}

	#press(keys: readonly Key[]): void {
		this.#view.holdOrder();
		for (const key of keys) {
			if (this.#ignoresTyping(key)) continue;
			const was = this.#mode.kind;
			this.#pressOne(key);
			// Keys in the same chunk as an answer are not commands.
			if (ANSWERING.has(was) && this.#isIn("list")) break;
			// Nor may they decide an approval that is not displayed yet.
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
		else if (mode.kind === "choose") this.#pressInDialog(mode, key);
		else if (mode.kind === "prompt") this.#pressInPrompt(mode, key);
		else if (mode.kind === "filter") this.#pressInFilter(mode, key);
		else if (mode.kind === "list") this.#pressInList(key);
		else {
			// Any key closes the help; any key except y means no.
			this.#mode = LIST;
			if (mode.kind === "kill" && key.value.toLowerCase() === "y") void this.#kill(mode.session);
		}
	}

	#pressInList({ kind, value }: Key): void {
		if (kind === "paste") return;
		const view = this.#view;
		const page = visibleRows(this.#surface.size);
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
			x: () => this.#askToKill(),
			d: () => this.#dismiss(),
			m: () => view.change({ isNeeding: !view.isNeeding }),
			"/": () => {
				this.#mode = { kind: "filter", field: new LineEditor(view.query), before: view.query };
			},
			Escape: () => view.change({ query: "" }),
			"?": () => {
				this.#mode = { kind: "help" };
			},
			"C-l": () => this.#surface.redraw(),
			q: () => this.#end(0),
			"C-c": () => this.#end(signalExitCode("SIGINT")),
		};
		if (/^[1-9]$/.test(value)) this.#answerByNumber(Number(value));
		else acts[value]?.();
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
		// Redraw now: the next key, even in this chunk, applies to the remaining rows.
		this.#draw();
		this.#view.holdOrder();
	}

	#pressInAnswer(mode: ModeOf<"answer">, key: Key): void {
		if (key.kind === "key" && (key.value === "Escape" || key.value === "C-c")) this.#mode = LIST;
		else if (key.kind === "key" && key.value === "Enter") {
			this.#mode = LIST;
			void this.#give(mode);
		} else mode.field.press(key);
	}

	#pressInDecision(mode: ModeOf<"decide">, key: Key): void {
		const hasChanged = hasOutputSince(mode.deciding.approval, this.#live.all.get(mode.session.id));
		const outcome = mode.deciding.press(key, hasChanged);
		if (outcome) this.#mode = LIST;
		if (outcome === "decided") void this.#sendDecision(mode);
	}

	#pressInDialog({ session, dialog }: ModeOf<"choose">, key: Key): void {
		const given = dialog.press(key);
		if (given) this.#mode = LIST;
		if (given && given !== "left") void this.#giveToAgent(session, dialog.agent, given);
	}

	#pressInPrompt({ session, field }: ModeOf<"prompt">, key: Key): void {
		if (key.kind === "key" && (key.value === "Escape" || key.value === "C-c")) this.#mode = LIST;
		else if (key.kind === "key" && key.value === "Enter") {
			this.#mode = LIST;
			if (field.text.trim() !== "") void this.#prompt(session, field.text);
		} else field.press(key);
	}

	/** Answers the dialog of the selected row, if it was displayed for long enough to be read. */
	#answerByNumber(number: number): void {
		const { row } = this.#view;
		const agent = dialogOf(row);
		if (!row || !agent) return;
		const { session } = row;
		const dialog = new DialogReview(agent);
		const given = this.#isRead(session, agent) ? dialog.choose(number) : undefined;
		if (!this.#isRead(session, agent)) this.#noteIn(session, "the question has just changed; press again", true);
		else if (given) void this.#giveToAgent(session, agent, given);
		else if (number <= agent.choices.length) this.#mode = { kind: "choose", session, dialog };
		else this.#noteIn(session, `the dialog has no choice ${number}`, true);
	}

	#isRead({ id }: SessionInfo, { episode }: AgentMessage): boolean {
		const shown = this.#shownDialog;
		return shown?.key === `${id} ${episode}` && performance.now() - shown.since >= READ_MS;
	}

	#decide(decision: DecideApproval["decision"]): void {
		const { session, need } = this.#view.row ?? {};
		if (!session) return;
		if (need?.kind !== "approval") this.#say(`no pending approvals in ${nameOf(session)}`, true);
		else this.#mode = { kind: "decide", session, deciding: new ApprovalReview(need.approval, decision) };
	}

	async #sendDecision({ session, deciding: { approval, decision } }: ModeOf<"decide">): Promise<void> {
		const { id } = approval;
		try {
			if (decision.decision === "grant") checkOutside(this.#options);
			const late = await decideApproval(this.#options.client, id, decision);
			this.#live.removeApproval(id);
			if (late !== undefined) return this.#say(`Too late: ${late}; nothing was done`, true);
			this.#say(`${decision.decision === "grant" ? "Approved" : "Denied"}: ${nameOf(session)}.`, false);
		} catch (error) {
			this.#sayWhy(error);
		}
	}

	#answer(): void {
		const { session, need } = this.#view.row ?? {};
		const agent = need?.kind === "approval" ? undefined : session?.overview?.agent;
		if (session && agent && !isEnded(session)) {
			const isOpen = agent.state === "blocked";
			this.#mode = isOpen
				? { kind: "choose", session, dialog: new DialogReview(agent) }
				: { kind: "prompt", session, field: new LineEditor() };
			return;
		}
		const waiting = session?.overview?.waiting;
		// A full-screen program without a question takes keys, not a line: they may choose in a dialog that no rule knows.
		const takesLine = waiting && (waiting.kind !== "tui" || need?.kind === "asks");
		if (session && takesLine && need?.kind !== "approval" && !isEnded(session)) {
			this.#mode = { kind: "answer", session, waiting, field: new LineEditor() };
			return;
		}
		this.#unansweredAt = performance.now();
		if (need?.kind === "approval") this.#say("press y to approve or n to deny", false);
		else if (session) this.#say(`${nameOf(session)} is not asking anything; press o to open it`, true);
	}

	/** Whether the key follows an Enter on a row that takes no answer: it was meant as an answer, not as a command. */
	#ignoresTyping({ kind, value }: Key): boolean {
		const now = performance.now();
		const isTyped = kind !== "key" || value === "Enter";
		const isLate = this.#isIn("list") && isTyped && now - this.#unansweredAt < TYPING_MS;
		this.#unansweredAt = isLate ? now : Number.NEGATIVE_INFINITY;
		return isLate;
	}

	async #give({ session, waiting, field }: ModeOf<"answer">): Promise<void> {
		const { id, mode } = session;
		// A second Enter while the answer is in flight.
		if (this.#answering.has(id)) return;
		this.#answering.add(id);
		const name = nameOf(session);
		try {
			const isTaken = await answerPrompt(this.#options.client.sessions.at(id), { mode, waiting }, field.text);
			if (!isTaken) return this.#say(`Not sent: ${name} no longer asks this.`, true);
			this.#live.markAnswered(id);
			const what = waiting.kind === "secret" ? "The secret" : safeLine(JSON.stringify(field.text));
			this.#say(`Sent ${what} to ${name}.`, false);
		} catch (error) {
			this.#sayWhy(error);
		} finally {
			this.#answering.delete(id);
		}
	}

	async #giveToAgent(session: SessionInfo, { episode }: AgentMessage, { answer, label }: GivenAnswer): Promise<void> {
		await this.#actInRow(session, "answering…", async (target) => {
			if (!(await answerDialog(target, { episode }, answer))) throw new Refusal("not sent: the question changed");
			this.#live.markDialogAnswered(session.id, episode);
			return `sent ${JSON.stringify(label)}`;
		});
	}

	async #prompt(session: SessionInfo, text: string): Promise<void> {
		await this.#actInRow(session, "sending…", async (target) => {
			const { queued } = await target.prompt(text, { whenIdle: true });
			return queued ? "the prompt is queued until the agent is idle" : "the prompt is submitted";
		});
	}

	/** Acts on a session once at a time, and shows in its row what came of it. */
	async #actInRow(session: SessionInfo, label: string, act: (target: Session) => Promise<string>): Promise<void> {
		const { id } = session;
		if (this.#answering.has(id)) return;
		this.#answering.add(id);
		this.#noteIn(session, label, false, Number.POSITIVE_INFINITY);
		try {
			this.#noteIn(session, await act(this.#options.client.sessions.at(id)), false);
		} catch (error) {
			const message = error instanceof Refusal ? error.message : toUserError(error)?.message;
			if (message === undefined) this.#fail(error);
			else this.#noteIn(session, message, true);
		} finally {
			this.#answering.delete(id);
		}
	}

	#noteIn(session: SessionInfo, text: string, isBad: boolean, ms = isBad ? ERROR_MS : OUTCOME_MS): void {
		this.#view.note(session, { text, isBad }, ms);
		this.#drawSoon();
	}

	#askToKill(): void {
		const session = this.#view.row?.session;
		if (!session) return;
		if (isEnded(session)) this.#say(`${nameOf(session)} ended`, true);
		else this.#mode = { kind: "kill", session };
	}

	async #kill(session: SessionInfo): Promise<void> {
		try {
			this.#say(`Killing ${nameOf(session)}…`, false);
			await this.#options.client.sessions.at(session.id).kill();
			this.#say(`Killed ${nameOf(session)}.`, false);
		} catch (error) {
			this.#sayWhy(error);
		}
	}

	/** A pending question or approval can't be dismissed, only answered or killed. */
	#dismiss(): void {
		const row = this.#view.row;
		const kind = row?.need?.kind;
		if (!row || (kind !== "failed" && kind !== "quiet")) return;
		this.#view.dismiss(row.session);
		this.#say(`Dismissed ${row.name}.`, false);
	}

	async #open(): Promise<void> {
		const session = this.#view.row?.session;
		if (!session) return;
		this.#surface.close();
		try {
			const signal = await this.#options.open(session);
			if (signal !== undefined) this.#end(signalExitCode(signal));
		} catch (error) {
			this.#sayWhy(error);
		} finally {
			this.#shownTitle = "";
			this.#surface.open();
		}
	}

	#sayWhy(error: unknown): void {
		const explained = toUserError(error);
		if (explained) this.#say(explained.message, true);
		else this.#fail(error);
	}

	#say(message: string, isBad: boolean): void {
		this.#notice = { text: safeLine(message), isBad, until: performance.now() + NOTICE_MS };
		this.#drawSoon();
	}
}

/** The open dialog of a row's agent. */
function dialogOf(row: Row | undefined): AgentMessage | undefined {
	const agent = row?.need?.kind === "asks" ? row.need.agent : undefined;
	return agent?.choices.length ? agent : undefined;
}

/** An answer that came too late. */
class Refusal extends Error {}
