import { beforeEach, describe, expect, it } from "vitest";
import type { ExecClient } from "./support/exec-client.ts";
import { type Exec, sh, startExec } from "./support/exec-harness.ts";

const LINES = sh('while read line; do echo "line:$line"; done');

let exec: Exec;
let client: ExecClient;
beforeEach(async () => {
	exec = await startExec();
	client = await exec.client();
});

describe("process/write", () => {
	it("P4: process/write answers stdinClosed without pipeStdin, running or exited", async () => {
		const log = await client.start("p", sh("exec sleep 30"));
		expect(await client.write("p", "x", "1")).toBe("stdinClosed");
		await client.terminate("p");
		await log.closed();
		expect(await client.write("p", "x", "2")).toBe("stdinClosed");
	});

	it("P5, invariant 17: process/write writes each id once", async () => {
		const log = await client.start("p", LINES, { pipeStdin: true });
		expect(await client.write("p", "first\n", "write-1")).toBe("accepted");
		expect(await client.write("p", "first\n", "write-1")).toBe("accepted");
		expect(await client.write("p", "second\n", "write-2")).toBe("accepted");
		await log.output("line:second\n");
		expect(log.text()).toBe("line:first\nline:second\n");
	});

	it("E7: process/write reaches a program on a pipe", async () => {
		const log = await client.start("p", sh('read line; printf "from-stdin:%s\\n" "$line"'), { pipeStdin: true });
		expect(await client.write("p", "hello\n", "1")).toBe("accepted");
		expect((await log.closed()).text()).toBe("from-stdin:hello\n");
	});

	it("E8: without stdin the program reads its end at once", async () => {
		const log = await client.start("p", sh("read x || echo eof"));
		expect((await log.closed()).text()).toBe("eof\n");
	});

	it("invariant 8: lifecycle is a status, not an error", async () => {
		expect(await client.write("unknown", "x", "1")).toBe("unknownProcess");
		const log = await client.start("p", sh("read x"), { pipeStdin: true });
		expect(await client.write("p", "", "empty")).toBe("accepted");
		expect(await client.write("p", "go\n", "1")).toBe("accepted");
		await log.closed();
		expect(await client.write("p", "x", "2")).toBe("stdinClosed");
		// An accepted write stays accepted.
		expect(await client.write("p", "go\n", "1")).toBe("accepted");
	});

	it("invariant 11: a write after terminate is an error", async () => {
		const log = await client.start("p", ["cat"], { pipeStdin: true });
		expect(await client.terminate("p")).toBe(true);
		const failure = { code: -32603, message: "failed to write to process stdin" };
		await expect(client.write("p", "x", "1")).rejects.toMatchObject(failure);
		await log.closed();
		await expect(client.write("p", "x", "2")).rejects.toMatchObject(failure);
	});

	it.each([
		[{ chunk: "eA==" }, "missing field `writeId`"],
		[{ chunk: "eA==", writeId: "" }, "writeId must not be empty"],
		[{ chunk: "eA", writeId: "1" }, /base64/],
		[{ chunk: "e*==", writeId: "1" }, /base64/],
		[{ writeId: "1" }, "missing field `chunk`"],
	])("process/write refuses %j", async (params, message) => {
		await expect(client.request("process/write", { processId: "p", ...params })).rejects.toMatchObject({
			code: -32602,
			message: typeof message === "string" ? message : expect.stringMatching(message),
		});
	});

	it("many writes of all sizes keep their order, beyond every window", async () => {
		const log = await client.start("p", ["cat"], { pipeStdin: true });
		const texts = Array.from({ length: 60 }, (_, i) => String.fromCharCode(65 + (i % 26)).repeat(1 + i * 997));
		texts.push("z".repeat(600_000));
		const statuses = await Promise.all(texts.map((text, i) => client.write("p", text, String(i))));
		expect(new Set(statuses)).toEqual(new Set(["accepted"]));
		await log.until(({ bytes }) => bytes >= texts.join("").length);
		expect(log.text()).toBe(texts.join(""));
	});

	it("a write waits while the program does not read, and is answered when it never will", async () => {
		const limited = await startExec({ concurrency: 8, limits: { queuedWrites: 2, queuedWriteBytes: 1000 } });
		const writer = await limited.client();
		const log = await writer.start("p", sh("exec sleep 30"), { pipeStdin: true });
		const big = "a".repeat(300_000);
		const accepted: string[] = [];
		const writes = ["1", "2", "3", "4"].map(async (id) => {
			await writer.write("p", `${big}${id}`, id);
			accepted.push(id);
		});
		// The first write is passed on in parts, so the second must wait for it.
		await writes[0];
		expect(await writer.request("environment/status")).toEqual({ status: "ready" });
		expect(accepted).toEqual(["1"]);
		// The program has read nothing: a duplicate of a waiting write waits for its answer as well.
		const duplicate = writer.write("p", `${big}2`, "2");
		expect(await writer.write("p", "", "1")).toBe("accepted");
		expect(accepted).toEqual(["1"]);
		await writer.request("process/signal", { processId: "p", signal: "interrupt" });
		await log.closed();
		expect(await duplicate).toBe("stdinClosed");
		await Promise.all(writes);
	});
});
