import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { describe, expect, it } from "vitest";
import type { WebSocket } from "ws";
import { serveExecOnStdio } from "../../../../src/server/dropins/codex-exec.ts";
import { eventually } from "../../../support/reading.ts";
import { standsStill } from "../../../support/standstill.ts";
import { temporaryDirectory } from "../../../support/temporary.ts";
import { ExecClient } from "./support/exec-client.ts";
import { contentOf, type Exec, sh, startExec } from "./support/exec-harness.ts";
import { linkOf, openLink, openSocket } from "./support/exec-link.ts";

/** More than the kernel's buffers on both sides, which grow to some ten megabytes, and all of the server's. */
const MEGABYTES = 40;
/** Writes all that, and creates a file once it is accepted. */
const writer = (file: string) => sh(`head -c ${MEGABYTES}000000 /dev/zero; echo x >${file}; exec sleep 30`);

/** A client that can stop reading. */
async function slowClient(exec: Exec): Promise<{ client: ExecClient; socket: WebSocket }> {
	const socket = await openSocket(exec.url);
	const client = exec.watch(new ExecClient(linkOf(socket)));
	await client.handshake();
	return { client, socket };
}

/** The number of bytes a program has written, without earlier output of its shell. */
async function writtenBy(pid: number): Promise<number> {
	const written = Number(/^wchar: (\d+)/m.exec(await readFile(`/proc/${pid}/io`, "utf8"))?.[1]);
	return written > 1_000_000 ? written : 0;
}

describe("a client that does not read (contract §4.2)", () => {
	it("a client that stops reading stalls the program, and later gets all output in order", async () => {
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

	it("a client that does not read for too long is disconnected, and the program continues", async () => {
		const exec = await startExec({ limits: { nudgeMs: 20 } });
		const { client, socket } = await slowClient(exec);
		const done = join(await temporaryDirectory(), "done");
		const log = await client.start("p", writer(done));
		socket.pause();
		const other = await exec.client();
		expect(await other.request("environment/status")).toEqual({ status: "ready" });
		expect(await contentOf(done)).toBe("x\n");
		// The server closes the connection, which a client that does not read learns late. A client that reconnects
		// finds the program. It reconnects after the output has ended, since with such a short timeout it might be
		// disconnected as well.
		const back = exec.watch(new ExecClient());
		back.sessionId = client.sessionId;
		await back.recover(() => openLink(exec.url));
		expect(await back.read("p")).toMatchObject({ exited: false, failure: null });
		expect(log.bytes).toBeLessThan(MEGABYTES * 1_000_000);
		const closed = once(socket, "close");
		socket.resume();
		await closed;
	});

	it("a disconnected client stalls nothing, although no other takes its place", async () => {
		const exec = await startExec();
		const { client, socket } = await slowClient(exec);
		const done = join(await temporaryDirectory(), "done");
		await client.start("p", writer(done));
		socket.pause();
		client.cut();
		expect(await contentOf(done)).toBe("x\n");
	});

	it("a client that does not read does not stall other clients", async () => {
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

	it("a client gets no more answers to unreadable messages until it reads the earlier ones", async () => {
		const input = new PassThrough();
		const output = new PassThrough();
		const limits = { bufferedAnswerBytes: 4096 };
		const options = { concurrency: 1, limits, report: (problem: unknown) => expect.unreachable(String(problem)) };
		const served = serveExecOnStdio({ input, output }, options, new AbortController().signal);
		const messages = 900;
		input.write("{\n".repeat(messages));
		await once(output, "readable");
		// All of them have arrived by then: they were one chunk.
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
