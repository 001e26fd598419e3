import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { expect, it } from "vitest";
import { spawn } from "../../../src/backends/spawn.ts";
import { systemClock } from "../../../src/backends/system-clock.ts";
import { inProcess } from "../../../src/core/session/in-process-sessions.ts";
import type { Session } from "../../../src/core/session/session.ts";
import { SessionRegistry } from "../../../src/core/session/session-registry.ts";
import { createId, createPrepare } from "../../../src/services/starts/prepare.ts";
import { SessionScope } from "../../../src/services/starts/session-scope.ts";
import { outputUntil } from "../../support/reading.ts";

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
	const sessions = new SessionRegistry({ homes: { durable: home, transient: home }, maxRunning: 10, maxEnded: 10 });
	const problems: unknown[] = [];
	const scope = new SessionScope({ sessions, report: (problem) => problems.push(problem) });
	// It ignores requests to end.
	const launch = () => sessions.create(prepare({ argv: ["sh", "-c", "trap '' TERM HUP; read x"], mode: "pipe" }));
	return { sessions, scope, launch, problems };
}

it("a scope kills its sessions at once and removes them", async () => {
	const { sessions, scope, launch } = open();
	const started = await Promise.all([scope.start(launch), scope.start(launch)]);
	const other = await launch();
	await scope.end();
	expect(started.map(({ state }) => state.exit?.signal)).toEqual(["SIGKILL", "SIGKILL"]);
	expect(sessions.list()).toEqual([other]);
	await other.kill({ signal: "SIGKILL", graceMs: 0 });
});

it("a scope ends a session that is being started, and starts none after its end", async () => {
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

it("a scope ends its sessions in parallel, and reports those that it can't end", async () => {
	const { sessions, scope, launch, problems } = open();
	const stuck = await launch();
	let fail = (_: Error) => {};
	const killed = new Promise<void>((_, reject) => {
		fail = reject;
	});
	// Like a session whose keeper does not answer.
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

it.each([false, true])(
	"a scope ends processes that a program left behind only if requested (%s)",
	async (endsLeavings) => {
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
	},
);
