/** Clients that read slowly or not at all (contract §1.5). */

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { WebSocket } from "ws";
import { eventually } from "../../../support/reading.ts";
import { standsStill } from "../../../support/standstill.ts";
import { temporaryDirectory } from "../../../support/temporary.ts";
import { contentOf } from "../codex-exec/support/exec-harness.ts";
import { linkOf, openSocket } from "../codex-exec/support/exec-link.ts";
import { AppClient } from "./support/app-client.ts";
import { type App, isThere, startApp, startStdioApp } from "./support/app-harness.ts";

/** More than the kernel's buffers on both sides, which grow to some ten megabytes, and all of the server's. */
const MEGABYTES = 40;

const unlimited = { streamStdoutStderr: true, disableOutputCap: true, disableTimeout: true } as const;

/** A client that can stop reading. */
async function slowClient(app: App): Promise<{ client: AppClient; socket: WebSocket }> {
	const socket = await openSocket(app.url);
	return { client: await new AppClient(linkOf(socket)).initialize(), socket };
}

/** The number of bytes a program has written, without earlier output of its shell. */
async function writtenBy(pid: number): Promise<number> {
	const written = Number(/^wchar: (\d+)/m.exec(await readFile(`/proc/${pid}/io`, "utf8"))?.[1]);
	return written > 1_000_000 ? written : 0;
}

describe("a client that does not read", () => {
	const script = `echo $$ >&2; read go; exec head -c ${MEGABYTES}000000 /dev/zero`;

	it("a client that stops reading stalls the program, and later gets all output in order", async () => {
		const app = await startApp();
		const { client, socket } = await slowClient(app);
		const answer = client.sh(script, { processId: "p", streamStdin: true, ...unlimited });
		const pid = Number((await client.output("p", "\n", "stderr")).trim());
		const written = client.write("p", "go\n");
		socket.pause();
		await eventually("the program to stand still", () => standsStill(pid, () => writtenBy(pid)));
		socket.resume();
		expect(await written).toEqual({});
		expect(await answer).toEqual({ exitCode: 0, stdout: "", stderr: "" });
		expect(Buffer.concat(client.deltas("p").chunks.stdout)).toHaveLength(MEGABYTES * 1_000_000);
		expect(client.violations).toEqual([]);
		socket.terminate();
	});

	it("a client on stdio that stops reading stalls the program", async () => {
		const { client, output } = startStdioApp();
		await client.initialize();
		const answer = client.sh(script, { processId: "p", streamStdin: true, ...unlimited });
		const pid = Number((await client.output("p", "\n", "stderr")).trim());
		const written = client.write("p", "go\n");
		output.pause();
		await eventually("the program to stand still", () => standsStill(pid, () => writtenBy(pid)));
		output.resume();
		expect(await written).toEqual({});
		expect((await answer).exitCode).toBe(0);
		expect(Buffer.concat(client.deltas("p").chunks.stdout)).toHaveLength(MEGABYTES * 1_000_000);
	});

	it("a client that stops reading delays neither other clients nor the end of its programs", async () => {
		const app = await startApp();
		const { client, socket } = await slowClient(app);
		const answer = client.sh(script, { processId: "p", streamStdin: true, ...unlimited });
		const pid = Number((await client.output("p", "\n", "stderr")).trim());
		await client.write("p", "go\n");
		socket.pause();
		await eventually("the program to stand still", () => standsStill(pid, () => writtenBy(pid)));
		expect((await (await app.client()).exec(["echo", "hi"])).stdout).toBe("hi\n");
		const terminated = client.terminate("p");
		await eventually("its end", () => !isThere(pid));
		// Messages sent meanwhile are read later.
		socket.resume();
		expect(await terminated).toEqual({});
		expect((await answer).exitCode).toBe(137);
		socket.terminate();
	});

	it("a client that stops reading output still gets answers to its requests", async () => {
		const { client, socket } = await slowClient(await startApp());
		const params = { processId: "p", streamStdin: true, ...unlimited };
		client.sh(`sh -c '${script}'; exec sleep 1000`, params).catch(() => {});
		const pid = Number((await client.output("p", "\n", "stderr")).trim());
		await client.write("p", "go\n");
		socket.pause();
		await eventually("the program to stand still", () => standsStill(pid, () => writtenBy(pid)));
		const answer = client.exec(["echo", "hi"]);
		// The command has run: only its answer is pending, behind output alone.
		await eventually("the program to stand still again", () => standsStill(pid, () => writtenBy(pid)));
		socket.resume();
		expect((await answer).stdout).toBe("hi\n");
		socket.terminate();
	});

	it("output that follows large answers reaches the client", async () => {
		const app = await startApp();
		const { client, socket } = await slowClient(app);
		const directory = await temporaryDirectory();
		const said = (name: string) => contentOf(join(directory, name));
		const other = await app.client();
		socket.pause();
		// More than the kernel buffers for a client that does not read.
		const answers = Array.from({ length: 15 }, (_, i) =>
			client.sh(`head -c 1000000 /dev/zero | tr '\\0' x; echo done > ${join(directory, String(i))}`),
		);
		await Promise.all(answers.map((_, i) => said(String(i))));
		await other.exec(["true"]);
		const params = { processId: "p", ...unlimited };
		client.sh(`echo hi; echo done > ${join(directory, "said")}; exec sleep 1000`, params).catch(() => {});
		await said("said");
		await other.exec(["true"]);
		socket.resume();
		await client.output("p", "hi\n");
		await Promise.all(answers);
		socket.terminate();
	});

	it("a client that never reads is disconnected in the end, and its programs end", async () => {
		const app = await startApp({ limits: { nudgeMs: 10, maxUnsentBytes: 1_000_000 } });
		const { client, socket } = await slowClient(app);
		client
			.sh("echo $$ >&2; read go; exec cat /dev/zero", { processId: "p", streamStdin: true, ...unlimited })
			.catch(() => {});
		const pid = Number((await client.output("p", "\n", "stderr")).trim());
		client.write("p", "go\n").catch(() => {});
		socket.pause();
		await eventually("its end", () => !isThere(pid));
		socket.terminate();
	});

	it("a client that does not read gets no more answers until it reads", async () => {
		const app = await startApp({ limits: { bufferedAnswerBytes: 2_000_000, waitingRequests: 50 } });
		const { client, socket } = await slowClient(app);
		socket.pause();
		const command = ["sh", "-c", "head -c 1000000 /dev/zero | tr '\\0' x"];
		const answers = Array.from({ length: 200 }, () => client.exec(command));
		const settled = Promise.allSettled(answers);
		// Another client is served meanwhile.
		expect((await (await app.client()).exec(["echo", "hi"])).stdout).toBe("hi\n");
		socket.resume();
		const first = await Promise.race(answers.slice(0, 50));
		expect(first.stdout).toHaveLength(1_000_000);
		socket.terminate();
		await settled;
	});
});

describe("collected output", () => {
	it("collected output above the size of an answer is an error, unless the client sets a cap", async () => {
		const client = await (await startApp({ limits: { collectedBytes: 1000 } })).client({ experimentalApi: true });
		const command = ["head", "-c", "5000", "/dev/zero"];
		const refusal = { code: -32603, message: expect.stringContaining("larger than 1000 bytes") };
		await expect(client.exec(command, { disableOutputCap: true })).rejects.toMatchObject(refusal);
		await expect(client.exec(command)).rejects.toMatchObject(refusal);
		expect((await client.exec(command, { outputBytesCap: 1000 })).stdout).toHaveLength(1000);
		const streamed = { processId: "s", streamStdoutStderr: true, outputBytesCap: 2000 };
		expect((await client.exec(command, streamed)).exitCode).toBe(0);
		expect(client.deltas("s").text()).toHaveLength(2000);
		// If the protocol can mark it as truncated, it is marked.
		await client.spawn("h", command, { outputBytesCap: null });
		expect(await client.exited("h")).toMatchObject({ exitCode: 0, stdoutCapReached: true, stderrCapReached: false });
	});

	it("collected output that is not UTF-8 is decoded as a single-byte encoding, and never fails", async () => {
		const client = await (await startApp()).client();
		const all = Array.from({ length: 256 }, (_, i) => `\\${i.toString(8).padStart(3, "0")}`).join("");
		expect((await client.exec(["printf", all])).stdout).toHaveLength(256);
		expect((await client.exec(["printf", "aé€"])).stdout).toBe("aé€");
		expect((await client.exec(["printf", "caf\\351"])).stdout).toBe("café");
	});

	it("output above the cap is discarded while the command continues", async () => {
		const client = await (await startApp()).client();
		const script = "head -c 3145728 /dev/zero | tr '\\0' x; echo end >&2; exit 4";
		const answer = await client.sh(script);
		expect([answer.stdout.length, answer.stderr, answer.exitCode]).toEqual([1_048_576, "end\n", 4]);
		await client.sh(script, { processId: "q", streamStdoutStderr: true });
		expect(client.deltas("q").text()).toHaveLength(1_048_576);
		expect(client.deltas("q").capped).toEqual({ stdout: true, stderr: false });
	});
});
