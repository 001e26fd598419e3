import { describe, expect, it } from "vitest";
import { startParams } from "./support/exec-client.ts";
import { sh, startExec } from "./support/exec-harness.ts";

describe("requests of one connection", () => {
	it("P2: requests are answered in order by default", async () => {
		const exec = await startExec();
		const client = await exec.client();
		await client.start("quiet", sh("exec sleep 30"));
		const [read, info, start] = await Promise.all([
			client.read("quiet", { waitMs: 250 }),
			client.request("environment/info"),
			client.start("other", ["true"]),
		]);
		expect(read).toMatchObject({ chunks: [], exited: false });
		expect(info).toMatchObject({ cwd: `file://${process.cwd()}` });
		await start.closed();
		const answers = client.messages.filter(({ id }) => id !== undefined).map(({ id }) => id);
		expect(answers).toEqual([1, 2, 3, 4, 5]);
	});

	it("P2: notifications do not wait for the request in progress", async () => {
		const exec = await startExec();
		const client = await exec.client();
		await client.start("quiet", sh("exec sleep 30"));
		const log = await client.start("loud", sh("sleep 0.1; echo hi"));
		const poll = client.read("quiet", { waitMs: 30_000 }).catch(() => "cut");
		await log.closed();
		client.cut();
		expect(await poll).toBe("cut");
	});

	it("P3: with --concurrent-requests, long polls do not block other requests", async () => {
		const exec = await startExec({ concurrency: 32 });
		const client = await exec.client();
		await client.start("p", sh("exec sleep 30"));
		const polls = [client.read("p", { waitMs: 600_000 })];
		await (await client.start("other", ["true"])).closed();
		// One more than there are slots.
		for (let i = 0; i < 32; i++) polls.push(client.read("p", { waitMs: 600_000 }));
		expect(await client.request("environment/info")).toHaveProperty("shell");
		expect(await client.request("environment/status")).toEqual({ status: "ready" });
		expect(await client.request("process/signal", { processId: "unknown", signal: "interrupt" })).toEqual({});
		expect(await client.terminate("p")).toBe(true);
		for (const answer of await Promise.all(polls)) expect(answer).toMatchObject({ exited: true, exitCode: 137 });
	});

	it("T1: of two concurrent starts of one id exactly one succeeds", async () => {
		const exec = await startExec({ concurrency: 4 });
		const client = await exec.client();
		const params = startParams("proc-1", sh("exec sleep 30"));
		const starts = [client.request("process/start", params), client.request("process/start", params)];
		const [first, second] = await Promise.allSettled(starts);
		expect(first).toMatchObject({ status: "fulfilled" });
		expect(second).toMatchObject({ reason: { code: -32600, message: "process proc-1 already exists" } });
	});

	it("terminate during a start cancels or ends it, and a cancelled one leaves its name free", async () => {
		const exec = await startExec({ concurrency: 4 });
		const client = await exec.client();
		const start = client.start("p", sh("exec sleep 30")).catch((error: Error) => error);
		const status = client.write("p", "x", "1");
		const [running, outcome] = await Promise.all([client.terminate("p"), start]);
		expect(running).toBe(true);
		expect(["starting", "stdinClosed"]).toContain(await status);
		if (outcome instanceof Error) {
			expect(outcome).toMatchObject({ code: -32600, message: "process p start was cancelled" });
			await (await client.start("p", ["true"])).closed();
		} else {
			expect((await outcome.closed()).exitCode).toBe(137);
		}
	});

	it("requests above the limit wait without a timeout, and none is lost", async () => {
		const exec = await startExec({ limits: { waitingRequests: 8 } });
		const client = await exec.client();
		const answers = await Promise.all(Array.from({ length: 500 }, () => client.request("environment/status")));
		expect(answers).toHaveLength(500);
	});
});
