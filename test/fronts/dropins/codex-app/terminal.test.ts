/** Commands on a terminal: keys, sizes, end of input and exit (contract §2.3, §2.8, §2.9). */

import { describe, expect, it } from "vitest";
import { eventually } from "../../../support/reading.ts";
import type { AppClient } from "./support/app-client.ts";
import { startApp } from "./support/app-harness.ts";

async function open(): Promise<AppClient> {
	return (await startApp()).client({ experimentalApi: true });
}

describe("a terminal", () => {
	it("a command leads the session of its terminal, and its group is in the foreground", async () => {
		const client = await open();
		const script =
			"tty; stty size; stty -a | tr ';' '\\n' | grep -c ' onlcr\\|echo '; ps -o pid=,pgid=,sid=,tpgid= -p $$";
		expect((await client.sh(script, { processId: "t", tty: true })).exitCode).toBe(0);
		const lines = client.deltas("t").text().split("\r\n");
		expect(lines[0]).toMatch(/^\/dev\/pts\/\d+$/);
		expect(lines[1]).toBe("24 80");
		expect(new Set(lines[3]?.trim().split(/ +/)).size).toBe(1);
	});

	it("a command gets resizes while it runs, also after the end of its input", async () => {
		const client = await open();
		const script =
			"trap 'echo winch:$(stty size)' WINCH; stty -echo; cat >/dev/null; echo closed; while :; do sleep 0.02; done";
		const answer = client.sh(script, { processId: "t", tty: true });
		// Typed before or after the program turns echo off. It ends the input in both cases.
		await client.write("t", null, true);
		await client.output("t", "closed");
		await client.resize("t", 45, 132);
		await client.output("t", "winch:45 132");
		await expect(client.write("t", "x")).rejects.toThrow("stdin is already closed");
		expect(await client.write("t", null, true)).toEqual({});
		expect(await client.write("t", "")).toEqual({});
		await client.terminate("t");
		expect((await answer).exitCode).toBe(137);
	});

	it("the end of input is typed at the start of a line, or to a program in raw mode, and not at all without such a key", async () => {
		const client = await open();
		const cooked = client.exec(["cat"], { processId: "cooked", tty: true });
		await client.write("cooked", "abc", true);
		expect((await cooked).exitCode).toBe(0);
		expect(client.deltas("cooked").text()).toMatch(/abc\r\n$/);
		const raw = client.sh("stty raw -echo; echo ready; head -c 3 | od -An -c", { processId: "raw", tty: true });
		await client.output("raw", "ready");
		await client.write("raw", "q", true);
		await raw;
		expect(client.deltas("raw").text()).toMatch(/q +\\n +004/);
		// Applies the keys in force when the size changes, after all earlier input.
		const keys = "until [ $resized ]; do sleep 0.02; done; stty min 0 time 0; od -An -c";
		const script = `trap resized=1 WINCH; stty raw -echo eof undef; echo ready; ${keys}`;
		const none = client.sh(script, { processId: "none", tty: true });
		await client.output("none", "ready");
		await client.write("none", "x", true);
		await client.resize("none", 10, 10);
		await none;
		expect(client.deltas("none").text()).toMatch(/ready\r?\n +x +\\n\r?\n$/);
	});

	it("control keys become signals", async () => {
		const client = await open();
		const caught = client.sh("trap 'exit 42' INT; echo ready; while :; do sleep 0.02; done", {
			processId: "c",
			tty: true,
		});
		await client.output("c", "ready");
		await client.write("c", "\x03");
		expect((await caught).exitCode).toBe(42);
		const uncaught = client.sh("echo ready; exec sleep 1000", { processId: "u", tty: true });
		await client.output("u", "ready");
		// The shell may not have executed the program yet. The key has the same effect.
		await client.write("u", "\x03");
		expect((await uncaught).exitCode).toBe(130);
	});

	it("a command on a terminal reports its exit like one on pipes", async () => {
		const client = await open();
		const ends: [string, number][] = [
			["exit 7", 7],
			["kill -9 $$", 137],
			["kill -TERM $$", 143],
		];
		for (const [script, exitCode] of ends) {
			expect((await client.sh(script, { processId: "e", tty: true })).exitCode).toBe(exitCode);
			expect((await client.sh(script)).exitCode).toBe(exitCode);
		}
		expect((await client.exec(["sleep", "9"], { processId: "e", tty: true, timeoutMs: 50 })).exitCode).toBe(124);
	});

	it("a terminal starts in the requested directory or not at all", async () => {
		const client = await open();
		const tty = { processId: "e", tty: true };
		await expect(client.exec(["pwd"], { ...tty, cwd: "/nope" })).rejects.toMatchObject({
			code: -32603,
			message: "failed to spawn command: No such file or directory (os error 2)",
		});
		await expect(client.exec(["definitely-not-a-program"], tty)).rejects.toMatchObject({ code: -32603 });
		await expect(client.exec(["/etc/passwd"], tty)).rejects.toThrow("Permission denied (os error 13)");
	});
});

describe("process/*", () => {
	it("process/spawn answers at the start, and reports the exit after the last output", async () => {
		// The client itself reports output before the answer and after the exit.
		const client = await open();
		const starts = Array.from({ length: 30 }, async (_, i) => {
			await client.spawn(`h${i}`, ["/bin/sh", "-c", "echo out; echo err >&2; exit 3"], { streamStdoutStderr: true });
			expect((await client.exited(`h${i}`)).exitCode).toBe(3);
			expect(client.handleDeltas(`h${i}`).text("stderr")).toBe("err\n");
		});
		await Promise.all(starts);
	});

	it("the exit states that the server stopped waiting for other holders of the output", async () => {
		const client = await (await startApp({ limits: { drainMs: 100 } })).client({ experimentalApi: true });
		await client.spawn("held", ["/bin/sh", "-c", "sleep 1000 & echo early"]);
		expect(await client.exited("held")).toMatchObject({ stdout: "early\n", outputDrainTimedOut: true });
		await client.spawn("free", ["echo", "hi"]);
		expect(await client.exited("free")).toMatchObject({ stdout: "hi\n", outputDrainTimedOut: false });
	});

	it("process/kill ends a terminal's program, and process/resizePty resizes it before", async () => {
		const client = await open();
		const script = "stty size; trap 'stty size' WINCH; while :; do sleep 0.02; done";
		const params = { tty: true, size: { rows: 10, cols: 20 }, timeoutMs: null, outputBytesCap: null };
		await client.spawn("t", ["/bin/sh", "-c", script], params);
		await client.until(() => client.handleDeltas("t").text().includes("10 20") || undefined);
		// The signal works only once the shell listens, so it is repeated until then.
		await eventually("the new size", async () => {
			await client.request("process/resizePty", { processHandle: "t", size: { rows: 4, cols: 6 } });
			await client.request("process/resizePty", { processHandle: "t", size: { rows: 5, cols: 6 } });
			return client.handleDeltas("t").text().includes("5 6");
		});
		expect(await client.request("process/kill", { processHandle: "t" })).toEqual({});
		expect(await client.exited("t")).toMatchObject({ exitCode: 137, stdout: "" });
	});

	it("process/spawn has no limits unless requested", async () => {
		const client = await open();
		const script = "head -c 2000000 /dev/zero | tr '\\0' x";
		await client.spawn("all", ["/bin/sh", "-c", script], { outputBytesCap: null, timeoutMs: null });
		expect((await client.exited("all")).stdout).toHaveLength(2_000_000);
		await client.spawn("some", ["/bin/sh", "-c", script]);
		expect(await client.exited("some")).toMatchObject({ stdoutCapReached: true, exitCode: 0 });
		await client.spawn("none", ["true"], { timeoutMs: 0 });
		expect((await client.exited("none")).exitCode).toBe(124);
	});
});
