/**
 * Reads the state of a session's agent from its screen, once the text of the screen stands still.
 *
 * The output may go on meanwhile: at a dialog, agents write titles and move cursors. The comparison leaves out signs that
 * turn or blink. While the text changes, only signs of work count.
 */

import { sleep } from "../../async/sleep.ts";
import { SessionError } from "../../core/errors.ts";
import { isEnded } from "../../core/log/session-state.ts";
import type { ScreenReader } from "../../core/session/screen-reader.ts";
import type { Session } from "../../core/session/session.ts";
import type { Screen } from "../../core/terminal/screen-view.ts";
import { untilNewEvent } from "../waits/screen.ts";
import { agentInFront } from "./agent-program.ts";
import type { AgentRules } from "./screen-rules/format.ts";
import { readLastLine } from "./screen-rules/last-line.ts";
import {
	type AgentScreen,
	explainAgentScreen,
	needsCells,
	readAgentScreen,
	type ScreenExplanation,
	type ScreenReading,
} from "./screen-rules/read-screen.ts";
import { stillText } from "./screen-rules/screen-text.ts";

/** Dialogs are drawn in parts. One counts when nothing was added for this time. */
const STILL_MS = 120;
/** Between two looks at a screen that changes all the time. */
const LOOK_MS = 100;
/** Between two looks for an agent while another program runs, and for another program while an agent does. */
const FRONT_MS = 1_000;
/** How often a request looks again until the text stands still. */
const SETTLING_LOOKS = 3;
/** A screen that does not change is not looked at again before the next output. */
const FOREVER_MS = 24 * 60 * 60_000;

export type AgentOnScreen = {
	readonly rules: AgentRules;
	/** Null if no rule matches. */
	readonly reading: ScreenReading | null;
	readonly screen: Screen & AgentScreen;
};

type ScreenWatchOptions = {
	readonly screens: ScreenReader;
	readonly rules: readonly AgentRules[];
};

export class AgentScreenWatch {
	readonly #session: Session;
	readonly #options: ScreenWatchOptions;
	/** The last reading that was reported, as JSON; null without an agent. */
	#reported: string | null | undefined;
	#latest: AgentOnScreen | null = null;
	#front: { readonly rules: AgentRules | undefined; readonly at: number } | undefined;

	constructor(session: Session, options: ScreenWatchOptions) {
		this.#session = session;
		this.#options = options;
	}

	/** The last row above the agent's input, as last seen; null without an agent in front. */
	get lastLine(): string | null {
		return this.#latest && readLastLine(this.#latest.screen, this.#latest.rules);
	}

	/** The agent's screen now; null if no agent is in front. */
	async read(signal: AbortSignal): Promise<AgentOnScreen | null> {
		const rules = await this.#rulesOfFront(0);
		if (!rules) this.#latest = null;
		return rules ? this.#read(rules, signal) : null;
	}

	/** Every rule that was tried, and why it does not match; null if no agent is in front. */
	async explain(signal: AbortSignal): Promise<ScreenExplanation | null> {
		const found = await this.read(signal);
		return found && explainAgentScreen(found.screen, found.rules);
	}

	/** The screen once its text stands still, or as it is after a moment; null if no agent is in front. */
	async settled(signal: AbortSignal): Promise<AgentOnScreen | null> {
		let found = await this.read(signal);
		for (let looks = 0; found && looks < SETTLING_LOOKS && !this.#isReported(found); looks++) {
			const before = keyOf(found);
			await sleep(STILL_MS, signal);
			found = await this.read(signal);
			if (found && keyOf(found) === before) break;
		}
		return found;
	}

	/** Calls back when the reading changes, until the program ends or the signal aborts. */
	async run(onReading: (found: AgentOnScreen | null) => void, signal: AbortSignal): Promise<void> {
		let shown = { key: "", since: performance.now() };
		/** When the reported dialog was last on the screen. */
		let dialogSeenAt = performance.now();
		const report = (found: AgentOnScreen | null) => {
			const key = found && JSON.stringify(found.reading);
			if (key === this.#reported) return;
			this.#reported = key;
			onReading(found);
		};
		while (!signal.aborted && !isEnded(this.#session.state)) {
			const end = await this.#session.end();
			const rules = await this.#rulesOfFront(FRONT_MS);
			if (!rules) {
				this.#latest = null;
				report(null);
				await Promise.all([untilNewEvent(this.#session, end, signal, FOREVER_MS), sleep(FRONT_MS, signal)]);
				continue;
			}
			const found = await this.#read(rules, signal);
			const now = performance.now();
			const key = keyOf(found);
			if (key !== shown.key) shown = { key, since: now };
			if (found.reading?.dialog) dialogSeenAt = now;
			const restMs = STILL_MS - (now - shown.since);
			// While an agent writes all the time, its dialog may be gone.
			const isGone = !found.reading?.dialog && now - dialogSeenAt >= STILL_MS && this.#hasReportedDialog();
			if (restMs <= 0 || found.reading?.state === "working" || isGone) report(found);
			await Promise.all([
				untilNewEvent(this.#session, found.screen, signal, restMs <= 0 ? FOREVER_MS : restMs),
				sleep(restMs <= 0 ? LOOK_MS : Math.min(LOOK_MS, restMs), signal),
			]);
		}
	}

	#isReported({ reading }: AgentOnScreen): boolean {
		return reading?.state === "working" || JSON.stringify(reading) === this.#reported;
	}

	#hasReportedDialog(): boolean {
		return this.#reported?.includes('"state":"blocked"') === true;
	}

	async #rulesOfFront(maxAgeMs: number): Promise<AgentRules | undefined> {
		const now = performance.now();
		if (this.#front && now - this.#front.at < maxAgeMs) return this.#front.rules;
		const rules = await agentInFront(this.#session, this.#options.rules);
		this.#front = { rules, at: now };
		return rules;
	}

	async #read(rules: AgentRules, signal: AbortSignal): Promise<AgentOnScreen> {
		this.#latest = await this.#readBy(rules, signal);
		return this.#latest;
	}

	async #readBy(rules: AgentRules, signal: AbortSignal): Promise<AgentOnScreen> {
		const { screens } = this.#options;
		const options = { signal };
		if (!needsCells(rules)) {
			const screen = await screens.read(this.#session, options);
			return { rules, screen, reading: readAgentScreen(screen, rules) };
		}
		const screen = await screens.cells(this.#session, options).catch((error: unknown) => {
			// Too large for colors.
			if (SessionError.from(error).code !== "limit_exceeded") throw error;
			return screens.read(this.#session, options);
		});
		return { rules, screen, reading: readAgentScreen(screen, rules) };
	}
}

/** The part that must stand still: a dialog, or the whole text. An agent may write above its dialog. */
function keyOf({ reading, screen }: AgentOnScreen): string {
	if (!reading?.dialog) return `${reading?.rule}\n${stillText(screen.lines)}`;
	const { rule, question, details, choices } = reading.dialog;
	return JSON.stringify([rule.id, question, details, choices]);
}
