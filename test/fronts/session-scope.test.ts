import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { expect, it } from "vitest";
import { systemClock } from "../../src/backends/clock.ts";
import { spawn } from "../../src/backends/spawn.ts";
import { inProcess } from "../../src/core/in-process.ts";
import type { Session } from "../../src/core/session.ts";
import { LocalSessions } from "../../src/core/sessions.ts";
import { createId, createPrepare } from "../../src/fronts/prepare.ts";
import { SessionScope } from "../../src/fronts/session-scope.ts";
import { outputUntil } from "../helpers/reading.ts";

const home = inProcess({ spawn, clock: systemClock });
const prepare = createPrepare({
	defaults: {
		cwd: "/",
		workspace: "default",
		durable: false,
		retention: { memoryBytes: 4096, journalBytes: 0 },
		drainMs: 0,
	},
	newId: () => createId(randomBytes),
	now: Date.now,
	environment: () => ({ PATH: process.env.PATH ?? "" }),
});

function open() {
	const sessions = new LocalSessions({ homes: { durable: home, transient: home }, maxRunning: 10, maxEnded: 10 });
	const problems: unknown[] = [];
	const scope = new SessionScope({ sessions, report: (problem) => problems.push(problem) });
	// It does not end when it is asked to.
	const launch = () => sessions.create(prepare({ argv: ["sh", "-c", "trap '' TERM HUP; read x"], mode: "pipe" }));
	return { sessions, scope, launch, problems };
}

it("ends what was started in it, at once, and forgets it", async () => {
	const { sessions, scope, launch } = open();
	const started = await Promise.all([scope.start(launch), scope.start(launch)]);
	const other = await launch();
	await scope.end();
	expect(started.map(({ state }) => state.exit?.signal)).toEqual(["SIGKILL", "SIGKILL"]);
	expect(sessions.list()).toEqual([other]);
	await other.kill({ signal: "SIGKILL", graceMs: 0 });
});

it("ends a session that was only being started, and starts none after its end", async () => {
	const { sessions, scope, launch } = open();
	let started: Session | undefined;
	const starting = scope.start(async () => {
		started = await launch();
		return started;
	});
	await scope.end();
	await expect(starting).rejects.toMatchObject({ code: "session_closed" });
	await expect.poll(() => started?.state.status).toBe("closed");
	await expect.poll(() => sessions.list()).toEqual([]);
	await expect(scope.start(launch)).rejects.toMatchObject({ code: "session_closed" });
	expect(sessions.list()).toEqual([]);
});

it("lets no session wait for the end of another, and says what could not be ended", async () => {
	const { sessions, scope, launch, problems } = open();
	const stuck = await launch();
	let fail = (_: Error) => {};
	const killed = new Promise<void>((_, reject) => {
		fail = reject;
	});
	// As one whose keeper does not answer.
	const silent: Session = Object.assign(stuck, { kill: () => killed });
	await scope.start(async () => silent);
	const session = await scope.start(launch);
	const ended = scope.end();
	await expect.poll(() => sessions.get(session.id)).toBeUndefined();
	expect(session.state.status).toBe("closed");
	fail(new Error("it does not answer"));
	await ended;
	expect(problems).toMatchObject([{ message: "it does not answer" }]);
	await stuck.ask<"kill">({ do: "kill", options: { signal: "SIGKILL", graceMs: 0 } });
});

it.each([false, true])("ends what a program left behind only where it is told to (%s)", async (endsLeavings) => {
	const { sessions } = open();
	const scope = new SessionScope({ sessions, endsLeavings, report: () => {} });
	const script = "setsid sleep 1000 >/dev/null 2>&1 & echo $!";
	const session = await scope.start(() => sessions.create(prepare({ argv: ["sh", "-c", script], mode: "pipe" })));
	const pid = Number((await outputUntil(session, /\n/)).trim());
	await expect.poll(() => session.state.status).toBe("closed");
	await scope.remove(session);
	const isThere = () => existsSync(`/proc/${pid}`);
	expect(isThere()).toBe(!endsLeavings);
	if (!endsLeavings) process.kill(pid, "SIGKILL");
});
