import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { describe, expect, it } from "vitest";
import type { WebSocket } from "ws";
import { serveExecOnStdio } from "../../../src/server/exec-server.ts";
import { eventually } from "../../helpers/reading.ts";
import { standsStill } from "../../helpers/standstill.ts";
import { temporaryDirectory } from "../../helpers/temporary.ts";
import { ExecClient } from "./exec-client.ts";
import { contentOf, type Exec, sh, startExec } from "./exec-harness.ts";
import { linkOf, openLink, openSocket } from "./exec-link.ts";

/** More than the buffers of the kernel on both sides, which grow to some ten megabytes, and all of ours. */
const MEGABYTES = 40;
/** Writes all that, and leaves a file when it has been taken. */
const writer = (file: string) => sh(`head -c ${MEGABYTES}000000 /dev/zero; echo x >${file}; exec sleep 30`);

/** A client that can stop reading. */
async function slowClient(exec: Exec): Promise<{ client: ExecClient; socket: WebSocket }> {
	const socket = await openSocket(exec.url);
	const client = exec.watch(new ExecClient(linkOf(socket)));
	await client.handshake();
	return { client, socket };
}

/** How much a program has written; what its shell wrote before does not count. */
async function writtenBy(pid: number): Promise<number> {
	const written = Number(/^wchar: (\d+)/m.exec(await readFile(`/proc/${pid}/io`, "utf8"))?.[1]);
	return written > 1_000_000 ? written : 0;
}

describe("a client that does not read (contract §4.2)", () => {
	it("makes the program wait, loses nothing, and gets all of it in order when it reads again", async () => {
		const exec = await startExec();
		const { client, socket } = await slowClient(exec);
		const script = `echo $$ >&2; read go; exec head -c ${MEGABYTES}000000 /dev/zero`;
		const log = await client.start("p", sh(script), { pipeStdin: true });
		await log.until(() => log.text("stderr") !== "");
		const pid = Number(log.text("stderr"));
		log.isCounting = true;
		const written = client.write("p", "go\n", "1");
		socket.pause();
		await eventually("the program to stand still", () => standsStill(pid, () => writtenBy(pid)));
		expect(log.isClosed).toBe(false);
		socket.resume();
		expect(await written).toBe("accepted");
		await log.closed();
		expect(log.bytes).toBe(MEGABYTES * 1_000_000 + String(pid).length + 1);
	});

	it("is given up when it does so for too long, and the program goes on without it", async () => {
		const exec = await startExec({ limits: { nudgeMs: 20 } });
		const { client, socket } = await slowClient(exec);
		const done = join(await temporaryDirectory(), "done");
		const log = await client.start("p", writer(done));
		socket.pause();
		const other = await exec.client();
		expect(await other.request("environment/status")).toEqual({ status: "ready" });
		expect(await contentOf(done)).toBe("x\n");
		// The connection is closed by the server, which a client that does not read learns late; one that comes back finds
		// the program. It comes when nothing is written any more: with so little patience it might be given up as well.
		const back = exec.watch(new ExecClient());
		back.sessionId = client.sessionId;
		await back.recover(() => openLink(exec.url));
		expect(await back.read("p")).toMatchObject({ exited: false, failure: null });
		expect(log.bytes).toBeLessThan(MEGABYTES * 1_000_000);
		const closed = once(socket, "close");
		socket.resume();
		await closed;
	});

	it("makes nothing wait once it is gone, though nobody takes its place", async () => {
		const exec = await startExec();
		const { client, socket } = await slowClient(exec);
		const done = join(await temporaryDirectory(), "done");
		await client.start("p", writer(done));
		socket.pause();
		client.cut();
		expect(await contentOf(done)).toBe("x\n");
	});

	it("does not make other clients wait", async () => {
		const exec = await startExec();
		const { client, socket } = await slowClient(exec);
		await client.start("p", ["yes"]);
		socket.pause();
		const other = await exec.client();
		for (let i = 0; i < 5; i++) {
			const log = await other.start(`q${i}`, ["echo", "hi"]);
			expect((await log.closed()).text()).toBe("hi\n");
		}
	});

	it("gets no more answers to messages that can't be read, until it reads those that are there", async () => {
		const input = new PassThrough();
		const output = new PassThrough();
		const limits = { bufferedAnswerBytes: 4096 };
		const options = { concurrency: 1, limits, report: (problem: unknown) => expect.unreachable(String(problem)) };
		const served = serveExecOnStdio({ input, output }, options, new AbortController().signal);
		const messages = 900;
		input.write("{\n".repeat(messages));
		await once(output, "readable");
		// All of them have come by then: they were one chunk.
		await new Promise((resolve) => setImmediate(resolve));
		expect(output.writableLength + output.readableLength).toBeLessThan(64 * 1024);
		let answers = 0;
		for await (const chunk of output) {
			answers += String(chunk).split("\n").length - 1;
			if (answers === messages) break;
		}
		input.end();
		await served;
	});
});
