/** Commands that a new follower of the feed gets while one of them ends. */

import { expect, onTestFinished, test } from "vitest";
import { spawn } from "../../../src/backends/spawn.ts";
import { systemClock } from "../../../src/backends/system-clock.ts";
import { LocalSession } from "../../../src/core/session/local-session.ts";
import { endedCommands, endedSince, mayReportCommands } from "../../../src/services/feed/shell-commands.ts";
import { eventually, outputUntil, write } from "../../support/reading.ts";
import { rawShell, startOf } from "../../support/starts.ts";

const KEY = "0123456789abcdef01234567";

/** A shell that prints its next mark for each line that it reads, like one whose marks come in several pieces. */
async function startSlowShell(marks: readonly string[]): Promise<LocalSession> {
	const script = marks.map((mark) => `printf '\\033]${mark}\\033\\\\'; read -r _`).join("; ");
	const session = await LocalSession.start(rawShell(`echo ready; read -r _; ${script}`), {
		spawn,
		clock: systemClock,
		shellHooks: { key: KEY, put: async () => "", clear: async () => {}, end: async () => {} },
	});
	onTestFinished(() => session.kill({ graceMs: 0 }));
	await outputUntil(session, /ready/);
	return session;
}

test("a command is reported once, when its shell has reported its text and its directory", async () => {
	const marks = {
		prompt: `133;B;h=${KEY}`,
		begin: `133;C;h=${KEY}`,
		end: `133;D;0;n=1;h=${KEY}`,
		text: `633;E;echo hello;${KEY}`,
		place: "7;file://host/tmp",
		next: `133;B;h=${KEY}`,
	};
	const session = await startSlowShell(Object.values(marks));
	const reported: (string | null)[] = [];
	let known: number | null = null;
	for (const name of Object.keys(marks)) {
		const { offset } = await session.end();
		await write(session, "\n");
		await eventually(`the mark of ${name}`, async () => (await session.end()).offset > offset);
		// One reader starts at each mark, and another has followed from the beginning.
		const isDone = name === "next";
		const ended = await endedCommands(session);
		expect(ended?.map(({ command, cwd }) => ({ command, cwd }))).toEqual(
			isDone ? [{ command: "echo hello", cwd: "/tmp" }] : [],
		);
		const news = await session.commandEvents(known, AbortSignal.timeout(0));
		const since = (await endedSince(session, known, news)) ?? [];
		known = news.count;
		reported.push(...since.map(({ command }) => command));
	}
	expect(reported).toEqual(["echo hello"]);
});

test("the last command of a shell that ended before its next prompt is reported", async () => {
	const session = await startSlowShell([`133;B;h=${KEY}`, `133;C;h=${KEY}`, `133;D;0;n=1;h=${KEY}`]);
	await write(session, "\n\n\n\n");
	await outputUntil(session, /$^/);
	expect(await endedCommands(session)).toMatchObject([{ seq: 1, exitCode: 0 }]);
});

test.each([
	[["bash"], true],
	[["/bin/zsh", "-l"], true],
	[["bash", "--rcfile", "file"], true],
	[["bash", "-c", "true"], false],
	[["bash", "script"], false],
	[["sh"], false],
] as const)("%j may report commands: %s", (argv, may) => {
	const { spec } = startOf(argv, { shellHooks: true });
	expect(mayReportCommands(spec)).toBe(may);
	expect(mayReportCommands({ ...spec, shellHooks: false })).toBe(false);
});
