/** Recordings of real agents, replayed through all signals: a dialog or turn that has ended leaves no state behind. */

import { describe, expect, it } from "vitest";
import { Scan } from "../../../src/core/terminal/terminal-scan.ts";
import { SignalCollector } from "../../../src/core/terminal/terminal-signals.ts";
import { XtermModel } from "../../../src/emulator/xterm-model.ts";
import { type AgentReport, foldAgent, NO_AGENT } from "../../../src/services/agents/agent-state.ts";
import { notificationReport } from "../../../src/services/agents/notification-report.ts";
import { screenReport } from "../../../src/services/agents/screen-report.ts";
import { builtinRules } from "../../../src/services/agents/screen-rules/builtin/index.ts";
import { readAgentScreen } from "../../../src/services/agents/screen-rules/read-screen.ts";
import type { AgentOnScreen } from "../../../src/services/agents/screen-watch.ts";
import { statusReport } from "../../../src/services/agents/status-report.ts";
import { titleReport } from "../../../src/services/agents/title-report.ts";
import { type AgentRecording, agentRecordings } from "../../support/agent-recordings.ts";

const GROUP = 7;
/** Looks at the screen during a replay. */
const LOOKS = 40;

/** The states in the order in which they came, without `OSC 7501` if asked. */
function statesIn({ app, cols, rows, bytes }: AgentRecording, hasStatus: boolean): string[] {
	const rules = builtinRules.find(({ agent }) => agent === app);
	if (!bytes || !rules) throw new Error(`there is no output of ${app}`);
	const signals = new SignalCollector({ now: () => 1_000, foreground: () => GROUP });
	const scan = new Scan(undefined, {
		onString: (text, place, terminator) => signals.noteString(text, place, terminator),
		onReset: () => signals.noteReset(),
	});
	const model = new XtermModel({ cols, rows });
	const states: string[] = [];
	let fold = NO_AGENT;
	let screen: AgentReport | null = null;
	const step = Math.ceil(bytes.byteLength / LOOKS);
	for (let from = 0; from < bytes.byteLength; from += step) {
		const piece = bytes.subarray(from, from + step);
		scan.feed(piece);
		signals.noteOutput(scan.state.title, scan.offset);
		model.feed(piece);
		const shown = { ...model.view(), cells: model.cells(), offset: scan.offset };
		const found = {
			rules,
			reading: readAgentScreen(shown, rules),
			screen: shown as unknown as AgentOnScreen["screen"],
		};
		screen = screenReport(found, { before: screen, now: from });
		const known = signals.read(scan.offset);
		const reports = [
			hasStatus ? statusReport(known, app) : null,
			titleReport(known, app),
			notificationReport(known, app),
			screen,
		].filter((report) => report !== null);
		fold = foldAgent(reports, { before: fold, offset: scan.offset, now: from, seenEpisode: -1 });
		const state = fold.message?.state ?? "none";
		if (states.at(-1) !== state) states.push(state);
	}
	model.dispose();
	return states;
}

/** A dialog that is open for few bytes may fall between two looks. */
const ENDS: Readonly<Record<string, RegExp>> = {
	denied: /blocked.*(?:idle|done)$/,
	answered: /blocked.*(?:idle|done)$/,
	escaped: /(?:idle|done)$/,
	"tool-killed": /working.*(?:idle|done)$/,
	interrupted: /working.*(?:idle|done)$/,
};

const recordings = agentRecordings().filter(
	({ bytes, state, cols }) => bytes !== undefined && cols === 120 && state in ENDS,
);

describe("after its end, a dialog or turn leaves no state behind", () => {
	it.each(recordings)("$name", (recording) => {
		const states = statesIn(recording, true);
		expect(states.join(" "), recording.name).toMatch(ENDS[recording.state] ?? /^$/);
	});

	it.each(recordings.filter(({ app }) => app === "codex"))("without OSC 7501: $name", (recording) => {
		expect(statesIn(recording, false).at(-1)).toMatch(/^(idle|done)$/);
	});
});
