import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { spawn } from "../../../../src/backends/spawn.ts";
import { systemClock } from "../../../../src/backends/system-clock.ts";
import { inProcess } from "../../../../src/core/session/in-process-sessions.ts";
import { SessionRegistry } from "../../../../src/core/session/session-registry.ts";
import { ClientSession } from "../../../../src/fronts/dropins/codex-exec/client-session.ts";
import { defaultLimits } from "../../../../src/fronts/dropins/codex-exec/limits.ts";
import { eventually } from "../../../support/reading.ts";
import { temporaryDirectory } from "../../../support/temporary.ts";
import { type ExecClient, RpcFailure } from "./support/exec-client.ts";
import { contentOf, type Exec, sh, startExec } from "./support/exec-harness.ts";
import { openLink } from "./support/exec-link.ts";

async function lose(client: ExecClient): Promise<void> {
	client.cut();
	await client.disconnected();
}

const back = (exec: Exec, client: ExecClient) => client.recover(() => openLink(exec.url));

describe("a lost connection", () => {
	it("P6: a process survives a lost connection, and the session resumes with the same id", async () => {
		const exec = await startExec();
		const client = await exec.client();
		await client.start("p", sh("exec sleep 30"));
		const { sessionId } = client;
		await lose(client);
		await back(exec, client);
		expect(client.sessionId).toBe(sessionId);
		expect(await client.read("p")).toMatchObject({ exited: false, closed: false, failure: null });
		expect(await client.terminate("p")).toBe(true);
	});

	it("E11, invariants 3 to 7 and 17: events in between are read once, and everything continues", async () => {
		const exec = await startExec();
		const client = await exec.client();
		const done = join(await temporaryDirectory(), "done");
		const script = `read a; echo one; read b; echo two; echo three >&2; echo x >${done}; read c; echo four $c; exit 7`;
		const log = await client.start("p", sh(script), { pipeStdin: true });
		await client.write("p", "\n", "1");
		await log.output("one");
		await client.write("p", "\n", "2");
		await lose(client);
		await contentOf(done);
		await back(exec, client);
		await log.output("three");
		// The client does not know whether this write arrived, and repeats it.
		expect(await client.write("p", "again\n", "2")).toBe("accepted");
		expect(await client.write("p", "new\n", "3")).toBe("accepted");
		await log.closed();
		expect(log.text("stdout")).toBe("one\ntwo\nfour new\n");
		expect(log.text("stderr")).toBe("three\n");
		expect(log.exitCode).toBe(7);
		expect(log.events.map(({ seq }) => seq)).toEqual(log.events.map((_, i) => i + 1));
	});

	it("an exit without a connected client is read completely, and notified to no client", async () => {
		const exec = await startExec();
		const client = await exec.client();
		const done = join(await temporaryDirectory(), "done");
		const log = await client.start("p", sh(`read x; echo late; echo x >${done}; exit 5`), { pipeStdin: true });
		await client.write("p", "\n", "1");
		await lose(client);
		await contentOf(done);
		await back(exec, client);
		// The read may precede the exit, which is then notified, with nothing before it.
		await log.closed();
		expect(log.events).toEqual([
			{ kind: "output", seq: 1, stream: "stdout", text: "late\n" },
			{ kind: "exited", seq: 2, exitCode: 5 },
			{ kind: "closed", seq: 3 },
		]);
		await lose(client);
		await back(exec, client);
		expect(await client.request("environment/status")).toEqual({ status: "ready" });
		expect(client.messages.filter(({ method }) => method !== undefined)).toEqual([]);
		expect(await client.read("p")).toMatchObject({ nextSeq: 4, exitCode: 5, closed: true });
	});

	it("a lost connection ends a long poll at once", async () => {
		const exec = await startExec();
		const client = await exec.client();
		await client.start("p", sh("exec sleep 30"));
		const poll = client.read("p", { waitMs: 20_000 });
		await Promise.all([expect(poll).rejects.toThrow(), lose(client)]);
		const begin = performance.now();
		await back(exec, client);
		expect(performance.now() - begin).toBeLessThan(15_000);
	});

	it("a lost connection ends a waiting write, which then counts as not sent", async () => {
		const exec = await startExec({ limits: { queuedWriteBytes: 1 } });
		const client = await exec.client();
		const script = "echo $$; kill -STOP $$; head -c 800001 | tail -c 1; exec sleep 30";
		const log = await client.start("p", sh(script), { pipeStdin: true });
		const pid = Number((await log.output("\n")).text());
		// Otherwise it would stop after it was continued.
		await eventually("its stop", async () => /\) T /.test(await readFile(`/proc/${pid}/stat`, "latin1")));
		const big = "a".repeat(400_000);
		expect(await client.write("p", big, "1")).toBe("accepted");
		for (let i = 0; i < 2; i++) {
			const waiting = client.write("p", big, "2");
			await Promise.all([expect(waiting).rejects.toThrow(), lose(client)]);
			await back(exec, client);
		}
		process.kill(pid, "SIGCONT");
		expect(await client.write("p", big, "2")).toBe("accepted");
		expect(await client.write("p", "!", "3")).toBe("accepted");
		// The last byte, if each was written exactly once.
		await log.output("!");
	});

	it("invariant 12: a session that is not resumed ends with everything it started", async () => {
		const exec = await startExec({ limits: { detachedMs: 60 } });
		const client = await exec.client();
		const log = await client.start("p", sh("echo $$; exec sleep 30"));
		const pid = Number((await log.output("\n")).text());
		await lose(client);
		for (let isThere = true; isThere; ) {
			await new Promise((resolve) => setImmediate(resolve));
			isThere = await readFile(`/proc/${pid}/stat`, "utf8").then(
				(stat) => !/\) Z /.test(stat),
				() => false,
			);
		}
		await expect(back(exec, client)).rejects.toEqual(new RpcFailure(-32600, `unknown session id ${client.sessionId}`));
	});

	it("above the limit the session that waited longest is ended, and a resumed one is not", async () => {
		const exec = await startExec({ limits: { detachedSessions: 2 } });
		const clients: ExecClient[] = [];
		for (let n = 0; n < 4; n++) {
			const client = await exec.client();
			await client.start("p", sh("exec sleep 30"));
			clients.push(client);
		}
		const [first, second, third, fourth] = clients as [ExecClient, ExecClient, ExecClient, ExecClient];
		await lose(first);
		await lose(second);
		await back(exec, first);
		await lose(third);
		await lose(fourth);
		// A client that is back was seen disconnected before.
		await back(exec, fourth);
		await back(exec, third);
		for (const client of [first, third, fourth]) expect(await client.read("p")).toMatchObject({ exited: false });
		await expect(back(exec, second)).rejects.toEqual(new RpcFailure(-32600, `unknown session id ${second.sessionId}`));
	});

	it("T5: a client without notifications reads everything, and after retention the name is free", async () => {
		const exec = await startExec({ limits: { closedMs: 50 } });
		const client = await exec.client();
		const done = join(await temporaryDirectory(), "done");
		// Another process holds its output, so that its retention starts when the test ends that process.
		const script = `read x; echo unseen; sleep 30 & echo $! >${done}`;
		const log = await client.start("p", sh(script), { pipeStdin: true });
		await client.write("p", "\n", "1");
		await lose(client);
		const holder = Number(await contentOf(done));
		await back(exec, client);
		await log.until(({ exitCode }) => exitCode === 0);
		expect(log.text()).toBe("unseen\n");
		process.kill(holder, "SIGKILL");
		await log.closed();
		for (let isFree = false; !isFree; ) {
			isFree = await client.start("p", ["true"]).then(
				() => true,
				(error: RpcFailure) => error.message !== "process p already exists",
			);
		}
		await client.processes.get("p")?.closed();
	});

	it("a process that lost more than is retained shows the gap, and only that process fails", async () => {
		const exec = await startExec({ limits: { retainedBytes: 100_000 } });
		const client = await exec.client();
		const done = join(await temporaryDirectory(), "done");
		const script = `read x; head -c 300000 /dev/zero; echo x >${done}; exec sleep 30`;
		const big = await client.start("big", sh(script), { pipeStdin: true });
		const small = await client.start("small", ["cat"], { pipeStdin: true });
		await client.write("big", "\n", "1");
		await lose(client);
		await contentOf(done);
		client.processes.delete("big");
		await back(exec, client);
		const answer = await client.read("big", { afterSeq: big.last });
		expect(() => big.recovered(answer)).toThrow("the retained window has lost it");
		await client.write("small", "fine\n", "1");
		await small.output("fine");
	});
});

describe("sessions", () => {
	it("each resume restarts the full detached timeout", () => {
		vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
		onTestFinished(() => void vi.useRealTimers());
		const report = (problem: unknown) => expect.unreachable(String(problem));
		const home = inProcess({ spawn, clock: systemClock, onFailure: report });
		const homes = { durable: home, transient: home };
		let isOver = false;
		const session = new ClientSession({
			id: "s",
			owner: "another owner",
			sessions: new SessionRegistry({ homes, maxRunning: 1, maxEnded: 1, onFailure: report }),
			limits: { ...defaultLimits, detachedMs: 400 },
			report,
			onWaiting: () => {},
			onExpired: () => {
				isOver = true;
			},
		});
		const attachment = { sink: { happened: () => {}, giveUp: () => {} }, probe: () => {} };
		for (let times = 0; times < 3; times++) {
			session.attach(attachment);
			vi.advanceTimersByTime(1_000);
			session.detach(attachment);
			vi.advanceTimersByTime(399);
			expect(isOver).toBe(false);
		}
		vi.advanceTimersByTime(1);
		expect(isOver).toBe(true);
	});

	it("two sessions may use the same process id, and are isolated", async () => {
		const exec = await startExec();
		const [one, two] = await Promise.all([exec.client(), exec.client()]);
		const [first, second] = await Promise.all([
			one.start("same", ["cat"], { pipeStdin: true }),
			two.start("same", ["cat"], { pipeStdin: true }),
		]);
		await Promise.all([one.write("same", "1\n", "w"), two.write("same", "2\n", "w")]);
		await Promise.all([first.output("1\n"), second.output("2\n")]);
		expect(await one.terminate("same")).toBe(true);
		await first.closed();
		expect(await two.read("same")).toMatchObject({ exited: false });
		expect([first.text(), second.text()]).toEqual(["1\n", "2\n"]);
	});

	it("terminate undoes a lost start, whether it took place or not", async () => {
		const exec = await startExec();
		const client = await exec.client();
		const start = client.start("p", sh("exec sleep 30"));
		await Promise.all([expect(start).rejects.toThrow(), lose(client)]);
		client.processes.clear();
		await back(exec, client);
		await client.terminate("p");
		const read = () => client.read("p", { waitMs: 20_000 }).catch((error: Error) => error);
		// The cancelled start may still be in progress.
		const state = await eventually("an end of the start", async () => {
			const now = await read();
			return !(now instanceof Error && now.message === "process id p is starting") && now;
		});
		if (state instanceof Error) expect(state.message).toBe("unknown process id p");
		else expect(state).toMatchObject({ exitCode: 137 });
	});
});
