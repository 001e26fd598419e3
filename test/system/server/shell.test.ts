/** Commands in running shells, over HTTP and the SDK. */

import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { limits } from "../../../src/api/messages.ts";
import { type Client, connect, type ExecOutput } from "../../../src/client/index.ts";
import { CrashingServer } from "../../support/crashing-server.ts";
import { eventually } from "../../support/reading.ts";
import { start } from "../../support/server.ts";
import { temporaryDirectory } from "../../support/temporary.ts";

/** A server with keepers in its own process. */
async function served(): Promise<{ server: CrashingServer; client: Client }> {
	const server = new CrashingServer(await temporaryDirectory());
	await server.start();
	onTestFinished(() => server.killAll());
	const times = { firstRetryMs: 20, lastRetryMs: 100 };
	return { server, client: connect({ url: server.url, token: await server.token(), times }) };
}

async function bash(client: Client, options: { durable?: boolean; shellHooks?: boolean } = {}) {
	const home = await temporaryDirectory();
	return {
		home,
		session: await client.sessions.create({ argv: ["bash"], cwd: home, env: { HOME: home }, ...options }),
	};
}

test.each([true, false])(
	"a shell runs commands and keeps its directory and variables (durable: %s)",
	async (durable) => {
		const { client } = await served();
		const { session, home } = await bash(client, { durable });
		expect(await session.exec("X=5; mkdir sub; cd sub")).toMatchObject({
			status: "ended",
			exitCode: 0,
			seq: 1,
			next: 9,
		});
		const answer = await session.exec("echo $X; pwd; exit_code() { return 7; }; exit_code");
		expect(answer).toMatchObject({
			status: "ended",
			exitCode: 7,
			text: `5\n${home}/sub\n`,
			cwd: `${home}/sub`,
			omitted: 0,
		});
		const { bytes } = await session.output(answer.output.from, { limit: answer.output.to - answer.output.from });
		expect(Buffer.from(bytes).toString()).toBe(answer.text.replaceAll("\n", "\r\n"));
		expect(await session.exec("seq 1 1000", { limit: 10 })).toMatchObject({ text: "99\n1000\n", omitted: 4883 });
		expect(await session.commands({ limit: 2 })).toMatchObject({
			proven: true,
			commands: [
				{ seq: 2, exitCode: 7, cwd: `${home}/sub`, output: answer.output },
				{ seq: 3, command: "seq 1 1000", exitCode: 0, endedAt: expect.any(Number) },
			],
		});
	},
);

test("the commands of an ended shell are read from its journal, and are markers in its recording", async () => {
	const { client } = await served();
	const { session } = await bash(client);
	await session.exec("echo one");
	await session.exec(String.raw`printf '\033]133;C\033\\\033]133;D;9\033\\'`);
	const before = await session.commands();
	await session.kill();
	await eventually("the same list", async () => {
		const after = await session.commands();
		// A journal stores the arrival time of output. The marks inside it share that time.
		const timeless = ({ commands }: typeof after) => commands.map(({ startedAt: _, endedAt: __, ...rest }) => rest);
		expect(timeless(after)).toEqual(timeless(before));
		return after.proven;
	});
	const parts: Uint8Array[] = [];
	for await (const part of session.recording()) parts.push(part);
	const [, ...lines] = Buffer.concat(parts).toString().trimEnd().split("\n");
	const events = lines.map((line) => JSON.parse(line) as [number, string, string]);
	expect(events.filter(([, code]) => code === "m").map(([, , text]) => text)).toEqual(
		before.commands.map(({ command }) => command),
	);
	const marker = events.findIndex(([, code]) => code === "m");
	// Regardless of how the output was split on arrival.
	const after = events.slice(marker + 1).flatMap(([, code, text]) => (code === "o" ? [text] : []));
	expect(after.join("")).toMatch(/^one\r\n/);
});

test("a shell started without hooks has none: a command is typed once and its exit code is unknown", async () => {
	const { server, client } = await served();
	const { session, home } = await bash(client, { shellHooks: false });
	expect(await session.exec("true")).toMatchObject({ status: "ended", exact: false, exitCode: null, seq: null });
	const answer = session.exec("echo x >>count; sleep 0.7; printf 'la%s\\n' te");
	await eventually("the command to run", () => readCount(home) === "x\n");
	await server.kill();
	await server.start();
	expect(await answer).toMatchObject({ status: "ended", exact: false, text: expect.stringContaining("late\n") });
	expect(readCount(home)).toBe("x\n");
	const program = await client.sessions.create({ argv: ["cat"], cwd: home });
	await expect(program.exec("echo no")).rejects.toMatchObject({
		code: "unsupported",
		hint: expect.stringContaining("bash"),
	});
});

test("either a command or a command number is required, and a number must be known", async () => {
	const server = await start();
	const { session } = await bash(connect({ url: server.url, token: server.adminToken }), { durable: false });
	expect((await server.post(`/v1/sessions/${session.id}/run`, {})).status).toBe(400);
	expect((await server.post(`/v1/sessions/${session.id}/run`, { command: "true", resume: 1 })).status).toBe(400);
	await expect(session.exec(99)).rejects.toMatchObject({ code: "not_found" });
});

test("a command whose server is killed runs once, and its caller gets the answer from the next server", async () => {
	const { server, client } = await served();
	const { session, home } = await bash(client);
	await session.exec("true");
	const answer = session.exec("echo x >>count; sleep 0.7; echo late; (exit 3)");
	await eventually("the command to run", () => readCount(home) === "x\n");
	await server.kill();
	await server.start();
	expect(await answer).toMatchObject({ status: "ended", exitCode: 3, text: "late\n" });
	expect(readCount(home)).toBe("x\n");
	expect(await session.exec("echo next")).toMatchObject({ status: "ended", text: "next\n" });
});

function readCount(home: string): string {
	try {
		return readFileSync(join(home, "count"), "utf8");
	} catch {
		return "";
	}
}

test("onOutput gets all output of a command in order, and the answer has the same text as without it", async () => {
	const { client } = await served();
	const { session } = await bash(client);
	// More output than two answers hold, written faster than it is read.
	const parts: ExecOutput[] = [];
	const answer = await session.exec("seq 1 1200000", { limit: 16, onOutput: (part) => void parts.push(part) });
	expect(answer).toMatchObject({ status: "ended", exitCode: 0, text: "99999\n1200000\n", part: null });
	const text = Buffer.concat(parts.map(({ bytes }) => bytes)).toString();
	expect(text.length).toBeGreaterThan(2 * limits.maxOutputBytes);
	expect(createHash("sha256").update(text).digest("hex")).toBe(await digestOfNumbers(1_200_000));
	expect(parts[0]?.offset).toBe(answer.output.from);
	expect(parts.every(({ omitted, bytes, text }) => omitted === 0 && bytes.byteLength > 0 && text !== "")).toBe(true);
	const offsets = parts.map(({ offset }) => offset);
	expect(offsets).toEqual([...offsets].sort((one, other) => one - other));
});

test("onOutput reports how much output the session's log has lost", async () => {
	const { client } = await served();
	// The memory of a session holds 1 MiB.
	const { session } = await bash(client, { durable: false });
	const parts: ExecOutput[] = [];
	const { output } = await session.exec("seq 1 600000", { onOutput: (part) => void parts.push(part) });
	const gaps = parts.filter(({ omitted }) => omitted > 0);
	expect(gaps.length).toBeGreaterThan(0);
	const read = parts.map(({ bytes, text, omitted }) => bytes.byteLength + text.split("\n").length - 1 + omitted);
	const missed = output.to - output.from - read.reduce((sum, one) => sum + one, 0);
	// A gap may fall between the two bytes of a newline.
	expect(Math.abs(missed)).toBeLessThanOrEqual(gaps.length);
});

test("onOutput is not called for a command without output", async () => {
	const { client } = await served();
	const { session } = await bash(client, { durable: false });
	let calls = 0;
	await session.exec("sleep 0.6", { onOutput: () => void calls++ });
	expect(calls).toBe(0);
});

async function digestOfNumbers(count: number): Promise<string> {
	const hash = createHash("sha256");
	for (let number = 1; number <= count; number++) hash.update(`${number}\n`);
	return hash.digest("hex");
}
