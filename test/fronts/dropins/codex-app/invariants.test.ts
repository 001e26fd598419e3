/** Invariants of the contract (§5), by number. The real server violates most of them. */

import { readdir, writeFile } from "node:fs/promises";
import type { Socket } from "node:net";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { eventually } from "../../../support/reading.ts";
import { temporaryDirectory } from "../../../support/temporary.ts";
import { linkOf, openSocket } from "../codex-exec/support/exec-link.ts";
import { AppClient, RpcFailure } from "./support/app-client.ts";
import { findByArgument, isThere, startApp, startStdioApp } from "./support/app-harness.ts";

const forever = { disableTimeout: true } as const;
const streamed = { streamStdin: true, streamStdoutStderr: true } as const;

const over = (id: string) => new RpcFailure(-32600, `command/exec "${id}" is no longer running`);
const unknown = (id: string) => new RpcFailure(-32600, `no active command/exec for process id "${id}"`);

/** Starts a program that does not read, fills its input, and returns the unacknowledged writes. */
async function wedge(client: AppClient, processId: string): Promise<{ pid: number; stuck: Promise<unknown>[] }> {
	const script = "echo $$; exec sleep 1000";
	client.sh(script, { processId, ...streamed, ...forever }).catch(() => {});
	const pid = Number((await client.output(processId, "\n")).trim());
	const writes = Array.from({ length: 40 }, () => client.write(processId, Buffer.alloc(64 * 1024)));
	for (const write of writes) write.catch(() => {});
	const acknowledged = new Set<Promise<unknown>>();
	for (const write of writes) write.then(() => acknowledged.add(write)).catch(() => {});
	// Acknowledged up to a bound: this write is, and requests after all the writes are answered before the last one.
	await writes[0];
	await client.write("unknown", "x").catch(() => {});
	const stuck = writes.filter((write) => !acknowledged.has(write));
	expect(stuck.length).toBeGreaterThan(10);
	return { pid, stuck };
}

async function outcomes(promises: readonly Promise<unknown>[]): Promise<unknown[]> {
	const settled = await Promise.allSettled(promises);
	return settled.map((result) => (result.status === "fulfilled" ? result.value : result.reason));
}

describe("I-1: requests for one program run in order", () => {
	it("I-1: forty writes sent with the start in one segment arrive as one text", async () => {
		const { client, input } = startStdioApp();
		await client.initialize();
		input.cork();
		const answer = client.exec(["cat"], { processId: "c", streamStdin: true });
		const lines = Array.from({ length: 40 }, (_, i) => `line ${i}\n`);
		const order: number[] = [];
		const writes = lines.map((line, i) => client.write("c", line, i === 39).then(() => order.push(i)));
		input.uncork();
		await Promise.all(writes);
		expect((await answer).stdout).toBe(lines.join(""));
		expect(order).toEqual(lines.map((_, i) => i));
	});

	it("I-1: a resize takes effect between the lines it was sent between", async () => {
		const client = await (await startApp()).client();
		const answer = client.sh('stty -echo; echo ready; while read line; do echo "$line:$(stty size)"; done', {
			processId: "r",
			tty: true,
		});
		await client.output("r", "ready");
		const sizes = Array.from({ length: 20 }, (_, i) => i + 10);
		for (const size of sizes) {
			const asked = [client.resize("r", size, 2 * size), client.write("r", `${size}\n`)];
			await Promise.all(asked);
			await client.output("r", `${size}:${size} ${2 * size}\r\n`);
		}
		await client.write("r", null, true);
		expect((await answer).exitCode).toBe(0);
	});

	it("I-1: a write sent before the start of its process fails, and the start succeeds", async () => {
		const client = await (await startApp()).client();
		const write = client.write("late", "x");
		const answer = client.exec(["echo", "hi"], { processId: "late" });
		await expect(write).rejects.toEqual(unknown("late"));
		expect((await answer).stdout).toBe("hi\n");
	});

	it("I-1: a start waits for an earlier start of the same name, and proceeds if that fails", async () => {
		const client = await (await startApp()).client();
		const failing = client.exec(["/nope"], { processId: "p" });
		const following = client.exec(["cat"], { processId: "p", streamStdin: true });
		const write = client.write("p", "hi", true);
		await expect(failing).rejects.toThrow("failed to spawn command: No such file or directory (os error 2)");
		expect(await write).toEqual({});
		expect((await following).stdout).toBe("hi");
	});

	it("I-1: requests for other names do not wait", async () => {
		const client = await (await startApp()).client();
		const answer = client.exec(["cat"], { processId: "waits", ...streamed, ...forever });
		expect((await client.exec(["echo", "hi"], { processId: "other" })).stdout).toBe("hi\n");
		expect((await client.exec(["echo", "hi"])).stdout).toBe("hi\n");
		await client.write("waits", null, true);
		await answer;
	});
});

describe("I-2: closing a connection ends everything it started", () => {
	/** One program of each kind, some of which hide. All processes write their ids here. */
	async function startEach(client: AppClient): Promise<number[]> {
		const script = "echo $$; setsid sh -c 'echo $$; exec sleep 1000' & exec sleep 1000";
		const kinds = [
			{ processId: "streamed", streamStdoutStderr: true },
			{ processId: "stdin", ...streamed },
			{ processId: "tty", tty: true },
		];
		for (const kind of kinds) client.sh(script, { ...forever, ...kind }).catch(() => {});
		client.spawn("handle", ["/bin/sh", "-c", script], { streamStdoutStderr: true, timeoutMs: null }).catch(() => {});
		const texts = await Promise.all(
			["streamed", "stdin", "tty"].map((id) =>
				client.until(() => {
					const numbers = client.deltas(id).text().match(/\d+/g);
					return numbers?.length === 2 ? numbers : undefined;
				}),
			),
		);
		const handle = await client.until(() => {
			const numbers = client.handleDeltas("handle").text().match(/\d+/g);
			return numbers?.length === 2 ? numbers : undefined;
		});
		return [...texts, handle].flat().map(Number);
	}

	it.each(["closed", "cut", "reset", "ended by the server"])(
		"I-2: programs end when the connection is %s",
		async (how) => {
			const app = await startApp();
			const socket = await openSocket(app.url);
			const client = await new AppClient(linkOf(socket)).initialize({ experimentalApi: true });
			const pids = await startEach(client);
			// Unnamed and buffered: only its marker shows that it runs.
			const marker = `1000.${process.pid}`;
			client.exec(["sleep", marker], forever).catch(() => {});
			const buffered = await eventually("the buffered command", async () => (await findByArgument(marker))[0]);
			for (const pid of [...pids, buffered]) expect(isThere(pid)).toBe(true);
			if (how === "ended by the server") await app.close();
			else if (how === "closed") socket.close();
			else if (how === "cut") socket.terminate();
			else (socket as unknown as { _socket: Socket })._socket.resetAndDestroy();
			await eventually("the end of all", () => [...pids, buffered].every((pid) => !isThere(pid)));
		},
	);

	it("I-2: programs that are still being started end, too", async () => {
		const app = await startApp();
		const client = await app.client();
		const marker = `2000.${process.pid}`;
		for (let i = 0; i < 20; i++)
			client.exec(["sleep", marker], { ...forever, processId: `p${i % 10}` }).catch(() => {});
		await client.request("no/such").catch(() => {});
		client.cut();
		// When all other requests have had their turn, these have, too.
		const other = await app.client();
		for (let i = 0; i < 20; i++) await other.exec(["true"]);
		await eventually("none of them", async () => (await findByArgument(marker)).length === 0);
	});

	it("processes that a command leaves behind end with the command", async () => {
		const client = await (await startApp()).client();
		const script = "setsid sleep 1000 >/dev/null 2>&1 & echo $!";
		const pid = Number((await client.sh(script)).stdout);
		await eventually("the end of the remaining processes", () => !isThere(pid));
	});
});

it("I-3: a command gets its own name as argv[0], also in a sandbox", async () => {
	const client = await (await startApp()).client();
	for (const type of ["dangerFullAccess", "readOnly"]) {
		const command = ["sh", "-c", "tr '\\0' ' ' < /proc/$$/cmdline; :"];
		expect((await client.exec(command, { sandboxPolicy: { type } })).stdout).toMatch(/^sh -c /);
	}
});

describe("I-6: unread input delays nothing that ends the program", () => {
	it("I-6: unread input delays neither terminate nor the answers to waiting writes", async () => {
		const client = await (await startApp()).client();
		const { pid, stuck } = await wedge(client, "full");
		expect(await client.terminate("full")).toEqual({});
		expect(new Set((await outcomes(stuck)).map(String))).toEqual(new Set([String(over("full"))]));
		await eventually("its end", () => !isThere(pid));
	});

	it("I-6: unread input does not delay the time limit", async () => {
		// On stdio all input has arrived before the program runs, so it is in time however long the test is delayed.
		const client = await startStdioApp().client.initialize();
		const answer = client.exec(["sleep", "1000"], { processId: "t", ...streamed, timeoutMs: 200 });
		const writes = Array.from({ length: 40 }, () => client.write("t", Buffer.alloc(64 * 1024)));
		const ends = outcomes(writes);
		expect(await answer).toEqual({ exitCode: 124, stdout: "", stderr: "" });
		expect((await ends).at(-1)).toEqual(over("t"));
	});

	it("I-6: unread input does not delay the program's own exit", async () => {
		const client = await startStdioApp().client.initialize();
		const answer = client.sh("sleep 0.2; exit 7", { processId: "e", ...streamed });
		const ends = outcomes(Array.from({ length: 40 }, () => client.write("e", Buffer.alloc(64 * 1024))));
		expect((await answer).exitCode).toBe(7);
		expect((await ends).at(-1)).toEqual(over("e"));
	});

	it("I-6: a resize of a full terminal waits its turn without delaying terminate", async () => {
		const client = await (await startApp()).client();
		const answer = client.sh("stty raw -echo; echo ready; exec sleep 1000", { processId: "p", tty: true, ...forever });
		await client.output("p", "ready");
		const writes = Array.from({ length: 40 }, () => client.write("p", Buffer.alloc(64 * 1024, "x")));
		const ends = outcomes([...writes, client.resize("p", 10, 10)]);
		expect(await client.terminate("p")).toEqual({});
		expect((await answer).exitCode).toBe(137);
		expect((await ends).at(-1)).toEqual(over("p"));
	});
});

describe("I-7: queued input is bounded", () => {
	it("I-7: input is acknowledged up to a bound of bytes, and all of it arrives once it is read", async () => {
		const client = await (await startApp({ limits: { queuedBytes: 100_000 } })).client();
		const ready = join(await temporaryDirectory(), "ready");
		const script = `until [ -e ${ready} ]; do sleep 0.02; done; wc -c`;
		const answer = client.sh(script, { processId: "w", streamStdin: true, ...forever });
		const size = 64 * 1024;
		let acknowledged = 0;
		const writes = Array.from({ length: 20 }, (_, i) =>
			client.write("w", Buffer.alloc(size), i === 19).then(() => acknowledged++),
		);
		await writes[0];
		await client.write("unknown", "x").catch(() => {});
		// The capacity of pipe and core, the queue limit, and the write that exceeded it.
		expect(acknowledged * size).toBeLessThan(64 * 1024 + 128 * 1024 + 100_000 + 2 * size);
		await writeFile(ready, "");
		await Promise.all(writes);
		expect((await answer).stdout.trim()).toBe(String(20 * size));
	});

	it("I-7: queued actions are bounded, excess ones are refused, and later input is not lost", async () => {
		const client = await (await startApp()).client();
		const ready = join(await temporaryDirectory(), "ready");
		const script = `stty raw -echo; echo ready; until [ -e ${ready} ]; do sleep 0.02; done; exec cat`;
		const answer = client.sh(script, { processId: "r", tty: true, ...forever });
		await client.output("r", "ready");
		await client.write("r", "x".repeat(64 * 1024));
		const ends = outcomes(Array.from({ length: 11_000 }, (_, i) => client.resize("r", 20 + (i % 2), 80)));
		await client.resize("unknown", 1, 1).catch(() => {});
		await writeFile(ready, "");
		const kinds = new Set((await ends).map((end) => (end instanceof RpcFailure ? end.message : "done")));
		expect(kinds).toEqual(new Set(["done", "Server overloaded; retry later."]));
		await client.write("r", "the end");
		await client.output("r", "xthe end");
		await client.terminate("r");
		await answer;
	});

	it("I-7: excess unacknowledged writes are refused as overload", async () => {
		const client = await (await startApp({ limits: { queuedActs: 1, waitingActs: 3 } })).client();
		client.exec(["sleep", "1000"], { processId: "w", streamStdin: true, ...forever }).catch(() => {});
		const writes = Array.from({ length: 8 }, () => client.write("w", Buffer.alloc(256 * 1024)));
		const ends = outcomes(writes);
		const refusal = new RpcFailure(-32001, "Server overloaded; retry later.");
		await expect(writes[7]).rejects.toEqual(refusal);
		expect(await client.terminate("w")).toEqual({});
		expect((await ends).filter((end) => end instanceof RpcFailure && end.code === -32001).length).toBeGreaterThan(1);
	});
});

it("I-8: a disconnect kills every program at once, whatever the state of the others' input", async () => {
	const app = await startApp();
	const client = await app.client();
	const wedged = await Promise.all([wedge(client, "one"), wedge(client, "two")]);
	client.sh("echo $$; exec sleep 1000", { processId: "free", streamStdoutStderr: true, ...forever }).catch(() => {});
	const free = Number((await client.output("free", "\n")).trim());
	const begin = performance.now();
	client.cut();
	await eventually("the end of all", () => [free, ...wedged.map(({ pid }) => pid)].every((pid) => !isThere(pid)));
	expect(performance.now() - begin).toBeLessThan(5_000);
});

it("I-9: a name is free once its answer has arrived, two hundred times", async () => {
	const client = await (await startApp()).client();
	for (let i = 0; i < 200; i++) expect((await client.exec(["true"], { processId: "again" })).exitCode).toBe(0);
});

describe("I-10: between a program's exit and its answer", () => {
	it("I-10: requests for an exited program are answered at once, and its name stays taken", async () => {
		// Another process holds the pipe longer than the program lives. The server waits for it until the test ends it.
		const client = await (await startApp({ limits: { drainMs: 60_000 } })).client();
		const script = "(sleep 1000) & echo $!; exit 3";
		const answer = client.sh(script, { processId: "d", ...streamed, ...forever });
		const holder = Number((await client.output("d", "\n")).trim());
		await eventually("the program's end", async () => {
			const [reason] = await outcomes([client.write("d", "x")]);
			return reason instanceof RpcFailure && reason.message === over("d").message;
		});
		await expect(client.terminate("d")).rejects.toEqual(over("d"));
		await expect(client.resize("d", 1, 1)).rejects.toEqual(over("d"));
		await expect(client.exec(["true"], { processId: "d" })).rejects.toEqual(
			new RpcFailure(-32600, 'duplicate active command/exec process id: "d"'),
		);
		process.kill(holder, "SIGKILL");
		expect((await answer).exitCode).toBe(3);
		await expect(client.terminate("d")).rejects.toEqual(unknown("d"));
	});

	it("I-10: the server waits for other holders of the pipe as long as configured", async () => {
		const client = await (await startApp({ limits: { drainMs: 300 } })).client();
		const begin = performance.now();
		expect((await client.sh("sleep 1000 & echo early", { processId: "d", streamStdoutStderr: true })).exitCode).toBe(0);
		expect(client.deltas("d").text()).toBe("early\n");
		expect(performance.now() - begin).toBeGreaterThan(290);
	});

	it("I-10: output that other holders print meanwhile is reported", async () => {
		const client = await (await startApp({ limits: { drainMs: 60_000 } })).client();
		// Its process id stays its own until the server knows that it ended.
		const script = "(while kill -0 $$ 2>/dev/null; do sleep 0.02; done; echo soon) & echo early";
		expect((await client.sh(script, { processId: "d", streamStdoutStderr: true })).exitCode).toBe(0);
		expect(client.deltas("d").text()).toBe("early\nsoon\n");
	});
});

describe("I-11: one answer, after the last delta", () => {
	it("I-11: exit, time limit and terminate give one answer, whichever comes first", async () => {
		// The client itself reports a delta after the answer, and a second answer.
		const client = await (await startApp()).client();
		const races = Array.from({ length: 60 }, async (_, i) => {
			const processId = `race-${i}`;
			const script = "i=0; while [ $i -lt 200 ]; do echo $i; echo $i >&2; i=$((i+1)); done";
			const answer = client.sh(script, { processId, ...streamed, timeoutMs: 5 + i });
			const terminated = client.terminate(processId).catch((error: unknown) => error);
			if (i % 3 === 0) await terminated;
			const { exitCode } = await answer;
			expect([0, 124, 137]).toContain(exitCode);
			return exitCode;
		});
		await Promise.all(races);
	});

	it("I-11: a large output is sent completely before the answer", async () => {
		const client = await (await startApp()).client();
		const bytes = 8 * 1024 * 1024;
		const params = { processId: "big", streamStdoutStderr: true, disableOutputCap: true };
		expect((await client.exec(["head", "-c", String(bytes), "/dev/zero"], params)).exitCode).toBe(0);
		expect(Buffer.concat(client.deltas("big").chunks.stdout)).toHaveLength(bytes);
		for (const chunk of client.deltas("big").chunks.stdout) expect(chunk.length).toBeLessThanOrEqual(65_536);
	});
});

it("I-12: a failed start leaves its name free and no descriptor open", async () => {
	const client = await (await startApp()).client();
	const fail = (tty: boolean) => client.exec(["/nope"], { processId: "f", tty, streamStdin: true }).catch(() => {});
	for (const tty of [true, false]) await fail(tty);
	const before = (await readdir("/proc/self/fd")).length;
	for (let i = 0; i < 20; i++) await fail(i % 2 === 0);
	await eventually("as many descriptors as before", async () => (await readdir("/proc/self/fd")).length <= before);
	expect((await client.exec(["true"], { processId: "f" })).exitCode).toBe(0);
});

it("I-12: a failed start leaves nothing of its sandbox", async () => {
	const root = await temporaryDirectory();
	const client = await (await startApp()).client();
	const sandboxPolicy = { type: "workspaceWrite", writableRoots: [root] };
	for (const tty of [true, false])
		await expect(client.exec(["true"], { processId: "f", tty, cwd: "/nope", sandboxPolicy })).rejects.toThrow("spawn");
	await eventually("nothing in the root", async () => (await readdir(root)).length === 0);
	expect((await client.exec(["true"], { processId: "f", sandboxPolicy })).exitCode).toBe(0);
});
