import { beforeEach, describe, expect, it } from "vitest";
import { ProcessEvents } from "../../../../src/fronts/dropins/codex-exec/processes/events.ts";
import type { ExecClient } from "./support/exec-client.ts";
import { type Exec, sh, startExec } from "./support/exec-harness.ts";
import { ProcessLog } from "./support/process-log.ts";

let exec: Exec;
let client: ExecClient;
beforeEach(async () => {
	exec = await startExec();
	client = await exec.client();
});

describe("process/read", () => {
	it("process/read pages by maxBytes and counts as the contract specifies: a, b, exit 7", async () => {
		const log = await client.start("p", sh("printf a; read x; printf b; exit 7"), { pipeStdin: true });
		await log.output("a");
		await client.write("p", "\n", "1");
		await log.closed();
		const a = { seq: 1, stream: "stdout", chunk: "YQ==" };
		const b = { seq: 2, stream: "stdout", chunk: "Yg==" };
		const state = { exited: true, exitCode: 7, closed: true, failure: null, sandboxDenied: false };
		expect(await client.read("p", { maxBytes: 0 })).toEqual({ chunks: [a], nextSeq: 2, ...state });
		expect(await client.read("p", { maxBytes: 1 })).toEqual({ chunks: [a], nextSeq: 2, ...state });
		expect(await client.read("p", { maxBytes: 2 })).toEqual({ chunks: [a, b], nextSeq: 3, ...state });
		expect(await client.read("p", { maxBytes: 1000 })).toEqual({ chunks: [a, b], nextSeq: 3, ...state });
		expect(await client.read("p", { maxBytes: null, afterSeq: null, waitMs: null })).toEqual({
			chunks: [a, b],
			nextSeq: 5,
			...state,
		});
		expect(await client.read("p", { afterSeq: 2, maxBytes: 5 })).toEqual({ chunks: [], nextSeq: 5, ...state });
		expect(await client.read("p", { afterSeq: 2 ** 53 })).toEqual({ chunks: [], nextSeq: 5, ...state });
	});

	it.each([{ afterSeq: -1 }, { afterSeq: 1.5 }, { maxBytes: "1" }, { waitMs: true }, { processId: 1 }])(
		"process/read refuses %j",
		async (params) => {
			const request = client.request("process/read", { processId: "p", ...params });
			await expect(request).rejects.toMatchObject({ code: -32602 });
		},
	);

	it("E2: long polls alone stream output, invariant 7", async () => {
		await client.start("p", sh("sleep 0.05; printf one; sleep 0.05; printf two >&2; exit 9"));
		const log = new ProcessLog();
		while (!log.isClosed) log.recovered(await client.read("p", { afterSeq: log.last, waitMs: 10_000 }));
		expect(log.events.map(({ kind, seq }) => [kind, seq])).toEqual([
			["output", 1],
			["output", 2],
			["exited", 3],
			["closed", 4],
		]);
		expect(log.text()).toBe("onetwo");
		expect(log.exitCode).toBe(9);
	});

	it("E4: after closed everything can still be read any number of times", async () => {
		const pushed = await (await client.start("p", sh("printf out; printf err >&2; exit 7"))).closed();
		for (let i = 0; i < 2; i++) {
			const log = new ProcessLog();
			log.recovered(await client.read("p", { waitMs: 10_000 }));
			expect(log.events).toEqual(pushed.events);
		}
	});

	it("E10: output before the first read is not lost", async () => {
		await client.request("process/start", {
			processId: "p",
			argv: ["echo", "early"],
			cwd: "file:///tmp",
			env: { PATH: process.env.PATH },
			tty: false,
		});
		// No client listens to its notifications.
		await client.message(({ method }) => method === "process/closed");
		expect(await client.read("p")).toMatchObject({ chunks: [{ seq: 1, chunk: "ZWFybHkK" }], closed: true });
	});

	it("a poll waits no longer than requested", async () => {
		await client.start("p", sh("exec sleep 30"));
		const begin = performance.now();
		const empty = { chunks: [], nextSeq: 1, exited: false, exitCode: null, closed: false };
		expect(await client.read("p", { waitMs: 0 })).toMatchObject(empty);
		expect(await client.read("p", { waitMs: 60 })).toMatchObject(empty);
		expect(performance.now() - begin).toBeGreaterThanOrEqual(59);
	});

	it("a wait of a thousand years is not cut short by the range of timers", async () => {
		const log = await client.start("p", sh("read x; echo $x"), { pipeStdin: true });
		const poll = client.read("p", { waitMs: 31_536_000_000_000 });
		client.cut();
		await expect(poll).rejects.toThrow();
		expect(log.events).toEqual([]);
	});
});

describe("retained events", () => {
	const bytes = Buffer.from("x");

	it("at most 50,000 chunks are retained, and a read of all of them fits what a client accepts", () => {
		const retained = new ProcessEvents({ retainedBytes: 1_048_576, retainedChunks: 50_000 });
		for (let i = 0; i < 60_000; i++) retained.output("stdout", bytes);
		const { chunks, nextSeq } = retained.read(0, null);
		expect(chunks).toHaveLength(50_000);
		expect([chunks[0]?.seq, chunks.at(-1)?.seq, nextSeq]).toEqual([10_001, 60_000, 60_001]);
		// An object with three members per event, and a small frame.
		expect(4 * chunks.length + 20).toBeLessThan(262_144);
	});

	it("every retained event is found by its number", () => {
		const retained = new ProcessEvents({ retainedBytes: 3, retainedChunks: 100 });
		for (let i = 0; i < 5; i++) retained.output("pty", bytes);
		retained.exited(0);
		retained.closed();
		expect([0, 1, 2, 3, 5, 6, 7, 8].map((seq) => retained.at(seq)?.seq)).toEqual([
			undefined,
			undefined,
			undefined,
			3,
			5,
			6,
			7,
			undefined,
		]);
		expect(retained.read(3, null).chunks.map(({ seq }) => seq)).toEqual([4, 5]);
	});
});
