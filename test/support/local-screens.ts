/** Screens of sessions in this process, with ways to disturb them. */

import { expect, onTestFinished } from "vitest";
import { spawn } from "../../src/backends/spawn.ts";
import { systemClock } from "../../src/backends/system-clock.ts";
import type { Clock } from "../../src/core/async/clock.ts";
import { inProcess } from "../../src/core/session/in-process-sessions.ts";
import type { Session } from "../../src/core/session/session.ts";
import { SessionRegistry } from "../../src/core/session/session-registry.ts";
import { EmulatorThread } from "../../src/emulator/emulator-thread.ts";
import { BackgroundRendering } from "../../src/services/screens/background-rendering.ts";
import { SessionScreens } from "../../src/services/screens/session-screens.ts";
import { endAll } from "./end-all.ts";
import { eventually } from "./run-program.ts";
import { shell } from "./starts.ts";

export const { signal } = new AbortController();

export type LocalScreens = {
	readonly sessions: SessionRegistry;
	readonly screens: SessionScreens;
	readonly thread: EmulatorThread;
	/** Runs a script of sh. */
	start(script: string): Promise<Session>;
};

export type LocalScreensOptions = {
	/** Where checkpoints are stored. Default: in memory. */
	readonly file?: string;
	/** The clock of the screens, not of the sessions. */
	readonly clock?: Clock;
	/** Whether full-screen programs are rendered without readers. */
	readonly isDrawnUnseen?: boolean;
};

export async function localScreens(options: LocalScreensOptions = {}): Promise<LocalScreens> {
	const { file, clock = systemClock, isDrawnUnseen = false } = options;
	const home = inProcess({ spawn, clock: systemClock });
	const sessions = new SessionRegistry({ homes: { durable: home, transient: home }, maxRunning: 10, maxEnded: 10 });
	const problems: unknown[] = [];
	const report = (problem: unknown) => problems.push(problem);
	const thread = new EmulatorThread(report);
	const screens = new SessionScreens({ sessions, clock, checkpointFile: () => file, report, thread });
	const drawing = isDrawnUnseen ? new BackgroundRendering({ sessions, screens, clock, report }) : undefined;
	onTestFinished(async () => {
		drawing?.close();
		await screens.close();
		await endAll(sessions);
		expect(problems).toEqual([]);
	});
	const retention = { memoryBytes: 64 * 1024 * 1024, journalBytes: 0 };
	const start = (script: string) => sessions.create(shell(script, { retention }));
	return { sessions, screens, thread, start };
}

/** The rows that are not empty. */
export async function lines(screens: SessionScreens, session: Session): Promise<readonly string[]> {
	return (await screens.read(session, { signal })).lines.filter((line) => line !== "");
}

export async function shows(screens: SessionScreens, session: Session, text: string): Promise<void> {
	await eventually(async () => (await lines(screens, session)).includes(text), 20_000);
}

export async function type(session: Session, text: string): Promise<void> {
	await session.act({ kind: "write", bytes: Buffer.from(text) });
}
