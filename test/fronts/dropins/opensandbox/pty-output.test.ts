/** Every byte of a PTY's output exactly once, whatever happens to its clients. */

import { readdir } from "node:fs/promises";
import { expect, test } from "vitest";
import { eventually } from "../../../support/reading.ts";
import { randomOf } from "../../../system/torture/support/echo-stream.ts";
import { startExecd, untilItComes } from "./support/execd-server.ts";
import { createPty, PtyClient, statusOf } from "./support/pty-client.ts";

const RECONNECTS = 200;

/** The output of `seq`. */
function sequence(first: number, last: number, end: string): string {
	return Array.from({ length: last - first + 1 }, (_, index) => `${first + index}${end}`).join("");
}

test.each([
	{ mode: "PTY", query: "pty=1", end: "\r\n" },
	{ mode: "pipe", query: "pty=0", end: "\n" },
])(
	`I-15, I-16, I-17: ${RECONNECTS} reconnects in the middle of the output of a $mode lose and repeat nothing`,
	async ({ query, end }) => {
		const seed = Number(process.env.SEED ?? Date.now() % 1_000_000);
		console.info(`seed ${seed}: repeat with SEED=${seed}`);
		const random = randomOf(seed);
		const server = await startExecd();
		// A line of input for every part of the output, so that each connection breaks in the middle of one.
		const script = `test -t 0 && stty -echo; echo ready
			for i in $(seq 0 ${RECONNECTS - 1}); do read -r x; seq $((100000+i*1000)) $((100999+i*1000)); done; exec cat`;
		const id = await createPty(server, { command: script });
		const whole = `ready${end}${sequence(100_000, 100_000 + RECONNECTS * 1000 - 1, end)}`;
		const parts: Buffer[] = [];
		let since = 0;
		for (let isOver = false; !isOver; ) {
			const client = await PtyClient.open(server, id, `${query}&since=${since}&takeover=1`);
			const isLast = parts.length > RECONNECTS;
			if (parts.length === 0) await client.text(/ready/);
			else if (!isLast) client.type("\n");
			client.say({ type: "ping" });
			await client.message("pong");
			const target = isLast ? whole.length : since + (parts.length === 0 ? 0 : random(6000));
			await client.until("more output", () => client.position >= target);
			client.cut();
			// It starts exactly where the previous one ended.
			expect(client.replay?.offset ?? since).toBe(since);
			parts.push(client.output);
			since = client.position;
			isOver = isLast;
		}
		expect(Buffer.concat(parts).toString() === whole).toBe(true);
		expect(await statusOf(server, id)).toMatchObject({ running: true, output_offset: whole.length });
		expect(server.problems).toEqual([]);
	},
);

test("I-21, I-22: all output that a short program leaves in its terminal precedes exit", async () => {
	const server = await startExecd();
	for (const query of ["pty=1", "pty=0"]) {
		for (let count = 0; count < 10; count++) {
			const id = await createPty(server, { command: "exec seq 1 5000" });
			const client = await PtyClient.open(server, id, query);
			expect((await client.closed).code).toBe(1000);
			expect(client.output.toString()).toBe(sequence(1, 5000, query === "pty=1" ? "\r\n" : "\n"));
			expect(client.received.at(-1)).toEqual({ kind: "message", message: { type: "exit", exit_code: 0 } });
			expect((await statusOf(server, id)).output_offset).toBe(client.output.byteLength);
		}
	}
});

test("2.15: a background job that keeps the terminal open does not delay exit", async () => {
	const server = await startExecd();
	for (const query of ["pty=1", "pty=0"]) {
		const id = await createPty(server, { command: "trap '' HUP; sleep 1000 & echo started; exit 5" });
		const client = await PtyClient.open(server, id, query);
		await client.closed;
		expect(client.messages.at(-1)).toEqual({ type: "exit", exit_code: 5 });
		expect(client.output.toString()).toMatch(/^started\r?\n$/);
		await server.request(`/pty/${id}`, { method: "DELETE" });
	}
});

test("2.7, 2.8: replay, connected, output in frames of at most 32 KiB, and exit come in this order", async () => {
	const server = await startExecd();
	const id = await createPty(server, { command: "printf begun; read x; head -c 300000 /dev/zero" });
	const first = await PtyClient.open(server, id, "pty=0");
	await first.until("the beginning", () => first.position === 5);
	const client = await PtyClient.open(server, id, "takeover=1");
	expect(client.received.slice(0, 2)).toMatchObject([
		{ kind: "replay", offset: 0, bytes: Buffer.from("begun") },
		{ kind: "message", message: { type: "connected" } },
	]);
	client.type("\n");
	await client.closed;
	const live = client.received.slice(2, -1);
	expect(live.every((one) => one.kind === "stdout" && one.bytes.byteLength > 0 && one.bytes.byteLength <= 32_768)).toBe(
		true,
	);
	expect(client.position).toBe(300_005);
	expect(client.received.at(-1)).toEqual({ kind: "message", message: { type: "exit", exit_code: 0 } });
});

test("2.10: of more than the ring holds the last 1 MiB is replayed in one frame, and its offset shows the gap", async () => {
	const server = await startExecd();
	const id = await createPty(server, { command: "head -c 3000000 /dev/zero; printf end; exec cat" });
	const first = await PtyClient.open(server, id, "pty=0");
	await first.until("all of it", () => first.position === 3_000_003);
	await first.close();
	const client = await PtyClient.open(server, id, "since=10&takeover=1");
	expect(client.received.map(({ kind }) => kind)).toEqual(["replay", "message"]);
	expect([client.replay?.offset, client.replay?.bytes.byteLength]).toEqual([3_000_003 - 1_048_576, 1_048_576]);
	expect(client.replay?.bytes.subarray(-4).toString()).toBe("\0end");
});

test("I-20: a line of 4 MiB without an end passes", async () => {
	const server = await startExecd();
	const id = await createPty(server, { command: "head -c 4194304 /dev/zero | tr '\\0' x" });
	const client = await PtyClient.open(server, id, "pty=0");
	await client.closed;
	expect(client.position).toBe(4_194_304);
	expect(client.output.every((byte) => byte === 120)).toBe(true);
});

test("I-04, I-18: status never goes back and never contradicts the stream", async () => {
	const server = await startExecd();
	const id = await createPty(server, { command: "exec seq 1 100000" });
	const client = await PtyClient.open(server, id, "pty=0");
	let last = { running: true, output_offset: 0 };
	while (last.running) {
		const status = await statusOf(server, id);
		expect(status.output_offset).toBeGreaterThanOrEqual(last.output_offset);
		last = status;
	}
	await client.closed;
	expect(await statusOf(server, id)).toEqual({ session_id: id, running: false, output_offset: client.position });
});

test("2.15: a client that connects during a program's last bytes gets the next program, after them", async () => {
	const server = await startExecd({ times: untilItComes });
	const id = await createPty(server, { command: "echo begun; read -r x; (sleep 0.1; echo late) & exit" });
	const first = await PtyClient.open(server, id, "pty=0");
	await first.text(/begun\n/);
	first.type("\n");
	await first.close();
	await eventually("the end of the program", async () => !(await statusOf(server, id)).running);
	const second = await eventually("a free lock", () => PtyClient.open(server, id, "pty=0").catch(() => undefined));
	await second.text(/begun\n.*begun\n/s);
	expect(second.output.toString()).toBe("begun\nlate\nbegun\n");
});

test("I-11: many programs leave no descriptor open", async () => {
	const server = await startExecd();
	const count = async () => (await readdir("/proc/self/fd")).length;
	const cycle = async (query: string) => {
		const id = await createPty(server, { command: "exec true" });
		await (await PtyClient.open(server, id, query)).closed;
	};
	await cycle("pty=1");
	const before = await count();
	for (let index = 0; index < 20; index++) await cycle(`pty=${index % 2}`);
	await eventually("as many descriptors as before", async () => (await count()) <= before);
});

test("I-13: a disconnect of the client does not affect the program", async () => {
	const server = await startExecd();
	const id = await createPty(server);
	const first = await PtyClient.open(server, id);
	first.type(
		"trap 'echo got''HUP' HUP; trap 'echo got''PIPE' PIPE; echo rea''dy; for i in 1 2 3; do echo n$i; sleep 0.01; done; echo al''l\n",
	);
	await first.text(/ready/);
	first.cut();
	const second = await PtyClient.open(server, id, "takeover=1");
	expect(await second.text(/all\r\n/)).not.toMatch(/gotHUP|gotPIPE/);
});
