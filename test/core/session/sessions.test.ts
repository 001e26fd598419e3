import { afterEach, describe, expect, test } from "vitest";
import { spawn } from "../../../src/backends/spawn.ts";
import { systemClock } from "../../../src/backends/system-clock.ts";
import { inProcess } from "../../../src/core/session/in-process-sessions.ts";
import {
	type LocalSessionsOptions,
	type SessionProvider,
	SessionRegistry,
} from "../../../src/core/session/session-registry.ts";
import { eventually, itemsUntil, outputUntil, textOf } from "../../support/reading.ts";
import { shell, startOf } from "../../support/starts.ts";

const home = inProcess({ spawn, clock: systemClock });
const failures: unknown[] = [];
let sessions: SessionRegistry;

function open(limits: Partial<LocalSessionsOptions> = {}): SessionRegistry {
	sessions = new SessionRegistry({
		homes: { durable: home, transient: home },
		maxRunning: 10,
		maxEnded: 10,
		onFailure: (error) => failures.push(error),
		...limits,
	});
	return sessions;
}

afterEach(async () => {
	await Promise.all(sessions.list().map(({ id }) => sessions.remove(id)));
	expect(failures).toEqual([]);
});

const idle = (options = {}) => shell("sleep 1000", options);

describe("the sessions of a node", () => {
	test("sessions are found by id, listed oldest first, and gone when removed", async () => {
		open();
		const first = await sessions.create(idle({ createdAt: 1 }));
		const second = await sessions.create(idle({ createdAt: 2 }));
		expect(sessions.get(first.id)).toBe(first);
		expect(sessions.list()).toEqual([first, second]);
		await sessions.remove(first.id, { by: "ana" });
		expect(first.state).toMatchObject({ status: "closed", exit: { reason: "killed", by: "ana" } });
		expect(sessions.get(first.id)).toBeUndefined();
		await sessions.remove(first.id);
	});

	test("watchers of sessions get each creation, change and removal once", async () => {
		open();
		const heard: string[] = [];
		const unwatch = sessions.watch(({ kind, session }) => heard.push(`${kind} ${session.state.status}`));
		const { id } = await sessions.create(idle());
		expect(heard).toEqual(["created running"]);
		await Promise.all([sessions.remove(id), sessions.remove(id)]);
		expect(heard).toEqual(["created running", "changed exited", "changed closed", "removed closed"]);
		unwatch();
		await sessions.create(idle());
		expect(heard).toHaveLength(4);
	});

	test("sessions retain no more than the limit, whatever they request", async () => {
		const MiB = 1024 * 1024;
		open();
		await sessions.create(idle({ retention: { memoryBytes: 64 * MiB, journalBytes: 4096 * MiB } }));
		for (const retention of [
			{ memoryBytes: 64 * MiB + 1, journalBytes: 0 },
			{ memoryBytes: 0, journalBytes: 4096 * MiB + 1 },
		]) {
			await expect(sessions.create(idle({ retention }))).rejects.toMatchObject({ code: "limit_exceeded" });
		}
		expect(sessions.list()).toHaveLength(1);
	});

	test("sessions are limited in number, also under concurrent starts", async () => {
		open({ maxRunning: 3 });
		const results = await Promise.allSettled(Array.from({ length: 6 }, () => sessions.create(idle())));
		expect(results.filter(({ status }) => status === "fulfilled")).toHaveLength(3);
		for (const result of results) {
			if (result.status === "rejected") expect(result.reason).toMatchObject({ code: "limit_exceeded" });
		}
		await sessions.remove(sessions.list()[0]?.id ?? "");
		await sessions.create(idle());
	});

	test("sessions are limited in number per workspace", async () => {
		open({ maxPerWorkspace: 1 });
		const both = await Promise.allSettled([
			sessions.create(idle({ workspace: "a" })),
			sessions.create(idle({ workspace: "a" })),
		]);
		expect(both[1]).toMatchObject({
			status: "rejected",
			reason: { code: "limit_exceeded", message: expect.stringContaining('in workspace "a"') },
		});
		await sessions.create(idle({ workspace: "b" }));
	});

	test("a running session has its name exclusively", async () => {
		open();
		const [first, second] = await Promise.allSettled([
			sessions.create(idle({ name: "a" })),
			sessions.create(idle({ name: "a" })),
		]);
		expect(first.status).toBe("fulfilled");
		expect(second).toMatchObject({ status: "rejected", reason: { code: "session_exists" } });
		await sessions.list()[0]?.kill({ signal: "SIGKILL" });
		await sessions.create(idle({ name: "a" }));
	});

	test("a session that can't be started leaves nothing behind", async () => {
		open({ maxRunning: 1 });
		await expect(sessions.create(startOf(["/no/such/program"], { name: "a" }))).rejects.toMatchObject({
			code: "spawn_failed",
		});
		expect(sessions.list()).toEqual([]);
		await sessions.create(idle({ name: "a" }));
	});

	test("ended sessions are kept up to a limit, and the oldest are removed", async () => {
		open({ maxEnded: 2 });
		const ended = [];
		for (const createdAt of [1, 2, 3]) {
			const session = await sessions.create(startOf(["/bin/true"], { createdAt }));
			await itemsUntil(session, { offset: 0 });
			ended.push(session.id);
		}
		const running = await sessions.create(idle({ createdAt: 0 }));
		expect(sessions.list().map(({ id }) => id)).toContain(running.id);
		while (sessions.get(ended[0] ?? "")) await new Promise((resolve) => setImmediate(resolve));
		expect(sessions.list().map(({ id }) => id)).toEqual([running.id, ...ended.slice(1)]);
	});

	test("a session whose removal failed is still there, to be removed again", async () => {
		const local = inProcess({ spawn, clock: systemClock });
		let isBroken = true;
		const failing: SessionProvider = {
			...local,
			forget: async (session, how) => {
				if (isBroken) throw new Error("the disk is broken");
				await local.forget(session, how);
			},
		};
		sessions = new SessionRegistry({ homes: { durable: failing, transient: failing }, maxRunning: 9, maxEnded: 9 });
		const { id } = await sessions.create(startOf(["/bin/true"]));
		await expect(sessions.remove(id)).rejects.toThrow("the disk is broken");
		expect(sessions.list().map((session) => session.id)).toEqual([id]);
		isBroken = false;
		await Promise.all([sessions.remove(id), sessions.remove(id)]);
		expect(sessions.list()).toEqual([]);
	});

	test("a session is not removed while it runs, or while a process that it left behind runs", async () => {
		open({ maxEnded: 1 });
		const left: number[] = [];
		for (const createdAt of [1, 2, 3]) {
			const session = await sessions.create(
				shell("trap '' HUP; sleep 1000 >/dev/null 2>&1 </dev/null & echo $!", { createdAt }),
			);
			left.push(Number(textOf(await itemsUntil(session, { offset: 0 }))));
			if (createdAt === 2) await sessions.forget(session.id);
		}
		const running = await sessions.create(idle({ createdAt: 4 }));
		await sessions.forget(running.id);
		const listed = () => sessions.list().map(({ spec }) => spec.createdAt);
		expect(listed()).toEqual([1, 2, 3, 4]);
		for (const pid of left) expect(process.kill(pid, 0)).toBe(true);
		for (const pid of left) process.kill(pid, "SIGKILL");
		await eventually("the others to be forgotten", () => listed().length === 2);
		expect(listed()).toEqual([3, 4]);
	});

	describe("sessions that end with their process", () => {
		const stubborn = () => shell("trap '' HUP TERM; echo ready; while :; do sleep 0.05; done", { durable: false });

		test("closing ends all sessions, although some are slow or fail, and all callers wait for the same end", async () => {
			const failing = new Error("it can't be ended");
			const expected: unknown[] = [];
			open({
				homes: {
					durable: home,
					transient: {
						...home,
						async start(start) {
							const session = await home.start(start);
							if (start.spec.name === "failing") session.kill = () => Promise.reject(failing);
							return session;
						},
					},
				},
				onFailure: (error) => expected.push(error),
			});
			const kept = await sessions.create(idle({ durable: true }));
			const failed = await sessions.create(idle({ durable: false, name: "failing" }));
			const slow = await sessions.create(stubborn());
			await outputUntil(slow, /ready/);
			const quick = await sessions.create(idle({ durable: false }));
			let isOver = false;
			const first = sessions.endTransient({ graceMs: 60_000 }).then(() => {
				isOver = true;
			});
			await eventually("the quick one", () => quick.state.status === "closed");
			expect(isOver).toBe(false);
			const second = sessions.endTransient();
			await slow.kill({ signal: "SIGKILL", graceMs: 0 });
			await second;
			await first;
			expect(slow.state.exit).toEqual({ code: null, signal: "SIGKILL", reason: "killed", by: "server" });
			expect(quick.state.exit).toEqual({ code: null, signal: "SIGHUP", reason: "killed", by: "server" });
			expect(kept.state.status).toBe("running");
			expect(expected).toEqual([failing]);
			await expect(sessions.create(idle())).rejects.toMatchObject({ code: "node_unavailable" });
			Reflect.deleteProperty(failed, "kill");
		});

		test("closing ends sessions that are still being started", async () => {
			open();
			const starts = Array.from({ length: 5 }, () => sessions.create(idle({ durable: false })));
			await sessions.endTransient();
			const started = await Promise.all(starts);
			for (const { state } of started) expect(state).toMatchObject({ status: "closed", exit: { by: "server" } });
		});
	});
});
