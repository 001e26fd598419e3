import { beforeEach, describe, expect, it } from "vitest";
import { isAlive } from "../../../support/alive.ts";
import { eventually } from "../../../support/reading.ts";
import type { ExecClient } from "./support/exec-client.ts";
import { type Exec, sh, startExec } from "./support/exec-harness.ts";

let exec: Exec;
let client: ExecClient;
beforeEach(async () => {
	exec = await startExec();
	client = await exec.client();
});

const interrupt = (processId: string) => client.request("process/signal", { processId, signal: "interrupt" });

describe("process/signal", () => {
	it.each([false, true])("E9: process/signal interrupts, and a program may trap it (tty %s)", async (tty) => {
		const script = "trap 'echo signal:2; exit 7' INT; echo ready; while :; do sleep 0.02; done";
		const log = await client.start("p", sh(script), { tty });
		await log.output("ready");
		expect(await interrupt("p")).toEqual({});
		await log.closed();
		expect(log.text()).toContain("signal:2");
		expect(log.exitCode).toBe(7);
	});

	it("process/signal reaches the whole group", async () => {
		// Its echo proves that the child runs: a shell about to start one may miss an interrupt.
		const log = await client.start("p", sh("cat; echo not reached"), { pipeStdin: true });
		await client.write("p", "up\n", "1");
		await log.output("up\n");
		await interrupt("p");
		expect((await log.closed()).exitCode).toBe(130);
		expect(log.text()).toBe("up\n");
	});

	it("process/signal to a missing process is no error, and other signals are unknown", async () => {
		expect(await interrupt("unknown")).toEqual({});
		await (await client.start("p", ["true"])).closed();
		expect(await interrupt("p")).toEqual({});
		const other = client.request("process/signal", { processId: "p", signal: "kill" });
		await expect(other).rejects.toMatchObject({ code: -32602 });
	});
});

describe("process/terminate", () => {
	it.each([false, true])("process/terminate ends the whole group at once, with 137 (tty %s)", async (tty) => {
		const script = "trap '' INT TERM HUP; sleep 30 & echo $!; wait; wait";
		const log = await client.start("p", sh(script), { tty });
		await log.output("\n");
		expect(await client.terminate("p")).toBe(true);
		await log.closed();
		expect(log.exitCode).toBe(137);
		// An ending process closes its pipes before it is gone.
		await eventually("the end of its child", () => !isAlive(Number(log.text())));
	});

	it("T2, invariant 16: terminate is idempotent, and answers false for an ended or missing process", async () => {
		const log = await client.start("p", ["cat"], { pipeStdin: true });
		expect(await client.terminate("p")).toBe(true);
		await log.closed();
		expect(await client.terminate("p")).toBe(false);
		expect(await client.terminate("unknown")).toBe(false);
		expect(await client.read("p")).toMatchObject({ exited: true, exitCode: 137, closed: true });
	});

	it("process/terminate leaves the children of a program that exited by itself alone", async () => {
		const log = await client.start("p", sh("sleep 30 & echo $!; exit 4"));
		await log.until(({ exitCode }) => exitCode === 4);
		const child = Number(log.text());
		expect(await client.terminate("p")).toBe(false);
		expect(isAlive(child)).toBe(true);
		expect(log.isClosed).toBe(false);
		process.kill(child, "SIGKILL");
		await log.closed();
	});

	it("process/terminate does not wait for a process that left the group and holds the pipes", async () => {
		const log = await client.start("p", sh("setsid sleep 30 & echo up; exec sleep 30"));
		await log.output("\n");
		expect(await client.terminate("p")).toBe(true);
		// Whether that process was found and ended with the rest is undefined.
		await log.closed();
	});
});

describe("retention", () => {
	it("a process is forgotten some time after closed; then its name is free and its sequence starts anew", async () => {
		const short = await startExec({ limits: { closedMs: 50 } });
		const user = await short.client();
		const first = await user.start("p", ["echo", "one"]);
		await first.closed();
		// A reader that waits for more is informed when there can't be any.
		for (;;) {
			const answer = await user.read("p", { afterSeq: 99 }).catch((error: Error) => error);
			if (!(answer instanceof Error)) continue;
			expect(answer).toMatchObject({ code: -32600, message: "unknown process id p" });
			break;
		}
		expect(await user.write("p", "x", "1")).toBe("unknownProcess");
		expect(await user.terminate("p")).toBe(false);
		expect(await user.request("process/signal", { processId: "p", signal: "interrupt" })).toEqual({});
		const second = await (await user.start("p", ["echo", "two"])).closed();
		expect(second.events[0]).toMatchObject({ seq: 1, text: "two\n" });
	});

	it("an exited process is kept while another process holds its pipes", async () => {
		const short = await startExec({ limits: { closedMs: 1 } });
		const user = await short.client();
		const held = await user.start("held", sh("sleep 30 & echo $!; exit 0"));
		await held.until(({ exitCode }) => exitCode === 0);
		// The complete life of another process takes longer than the retention of this one.
		await (await user.start("other", sh("sleep 0.2"))).closed();
		expect(await user.read("held")).toMatchObject({ exited: true, closed: false });
		process.kill(Number(held.text()), "SIGKILL");
		await held.closed();
	});

	it("the newest 1 MiB is retained in whole chunks", async () => {
		const log = await client.start("p", sh("head -c 3000000 /dev/zero"));
		await log.closed();
		expect(log.bytes).toBe(3_000_000);
		const { chunks, nextSeq } = await client.read("p");
		const sizes = chunks.map(({ chunk }) => Buffer.from(chunk, "base64").length);
		const total = sizes.reduce((sum, size) => sum + size, 0);
		expect(total).toBeLessThanOrEqual(1_048_576);
		expect(total).toBeGreaterThan(1_048_576 - 65_536);
		expect(Math.max(...sizes)).toBeLessThanOrEqual(65_536);
		// The last events before exited and closed, without a gap.
		expect(chunks.at(-1)?.seq).toBe(nextSeq - 3);
		expect(chunks[0]?.seq).toBe(nextSeq - 2 - chunks.length);
	});
});
