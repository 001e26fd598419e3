/** Screens of sessions in this process, with all that a test needs to disturb them. */

import { expect, onTestFinished } from "vitest";
import { systemClock } from "../../src/backends/clock.ts";
import { spawn } from "../../src/backends/spawn.ts";
import type { Clock } from "../../src/core/clock.ts";
import { inProcess } from "../../src/core/in-process.ts";
import type { Session } from "../../src/core/session.ts";
import { LocalSessions } from "../../src/core/sessions.ts";
import { BackgroundDrawing } from "../../src/screen/background-drawing.ts";
import { SessionScreens } from "../../src/screen/screens.ts";
import { ScreenThread } from "../../src/screen/thread.ts";
import { eventually } from "../backends/run.ts";
import { endAll } from "../helpers/end-all.ts";
import { shell } from "../helpers/starts.ts";

export const { signal } = new AbortController();

export type LocalScreens = {
	readonly sessions: LocalSessions;
	readonly screens: SessionScreens;
	readonly thread: ScreenThread;
	/** Runs a script of sh. */
	start(script: string): Promise<Session>;
};

export type LocalScreensOptions = {
	/** Where checkpoints go; into memory, if left out. */
	readonly file?: string;
	/** Of the screens, not of the sessions. */
	readonly clock?: Clock;
	/** Whether full-screen programs are drawn while nobody looks. */
	readonly isDrawnUnseen?: boolean;
};

export async function localScreens(options: LocalScreensOptions = {}): Promise<LocalScreens> {
	const { file, clock = systemClock, isDrawnUnseen = false } = options;
	const home = inProcess({ spawn, clock: systemClock });
	const sessions = new LocalSessions({ homes: { durable: home, transient: home }, maxRunning: 10, maxEnded: 10 });
	const problems: unknown[] = [];
	const report = (problem: unknown) => problems.push(problem);
	const thread = new ScreenThread(report);
	const screens = new SessionScreens({ sessions, clock, checkpointFile: () => file, report, thread });
	const drawing = isDrawnUnseen ? new BackgroundDrawing({ sessions, screens, clock, report }) : undefined;
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
