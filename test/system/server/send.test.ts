/** One call that types, waits and reads, over each client interface of a server. */

import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, expect, onTestFinished, test } from "vitest";
import { type Client, connect } from "../../../src/client/index.ts";
import { CrashingServer } from "../../support/crashing-server.ts";
import { startTestServer, type TestServer, TOKEN } from "../../support/native-server.ts";
import { eventually } from "../../support/reading.ts";
import { temporaryDirectory } from "../../support/temporary.ts";

let client: Client;
let server: TestServer;
beforeAll(async () => {
	server = await startTestServer();
	client = connect({ url: server.url, token: TOKEN });
	return () => server.close();
});

/** Answers each line by running a script with it as `$line`. */
const answering = (script: string) => client.sessions.create({ command: `while read line; do ${script}; done` });

const ONE_CALL = "one call: send, wait for any cause, read, anchored";

test.each([
	["at once", 'echo "got $line"', 50],
	["1 ms after it", 'sleep 0.001; echo "got $line"', 50],
] as const)(
	`${ONE_CALL}: an answer %s is never missed, and earlier output never counts as the answer`,
	async (_, script, turns) => {
		const session = await answering(script);
		for (let turn = 0; turn < turns; turn++) {
			const answer = await session.send({ text: `${turn}`, keys: ["Enter"], until: { match: "got" } });
			expect(answer).toMatchObject({ cause: "match", text: expect.stringContaining(`got ${turn}`) });
			expect(answer.text).not.toContain(`got ${turn - 1}`);
		}
	},
);

test("pasted text is bracketed if the program asks for that, and a repeat is identical", async () => {
	const reading = (bytes: number) => `head -c ${bytes} | od -An -v -c -w${bytes}`;
	const session = await client.sessions.create({
		command: `stty -icanon -echo; printf '\\033[?2004h'; ${reading(16)}; printf '\\033[?2004loff\\n'; ${reading(4)}`,
	});
	await session.send({ until: { input: true } });
	const body = JSON.stringify({ text: "a\r\nb\n", paste: true, until: { match: "off" } });
	const headers = { "content-type": "application/json", "idempotency-key": "one:0" };
	for (let turn = 0; turn < 2; turn++) {
		const response = await server.request(`/v1/sessions/${session.id}/send`, { method: "POST", headers, body });
		const { cause, next, text } = (await response.json()) as { cause: string; next: number; text: string };
		expect({ cause, next, text: text.replaceAll(/\s+/g, " ") }).toEqual({
			cause: "match",
			next: 16,
			text: " 033 [ 2 0 0 ~ a \\n b \\n 033 [ 2 0 1 ~ off ",
		});
	}
	const plain = await session.send({ text: "c\nd\n", paste: true, until: { match: "d" } });
	expect(plain.text.replaceAll(/\s+/g, " ")).toBe(" c \\n d \\n ");
});

test("input that ends the program is typed and reported, whenever the end is noticed", async () => {
	for (let turn = 0; turn < 20; turn++) {
		const session = await client.sessions.create({ command: "read line; exit 7" });
		const answer = await session.send({ text: "x", keys: ["Enter"], until: { match: "never" } });
		expect(answer).toMatchObject({ cause: "exit", exit: { code: 7 } });
	}
});

test(`${ONE_CALL}: the answer states why the wait ended: silence, a question, the program's end, or the timeout`, async () => {
	const session = await answering('case $line in ask) printf "sure? "; read y;; end) exit 7;; *) echo "$line" ;; esac');
	expect(await session.send({ text: "a", keys: ["Enter"], until: { idleMs: 50 } })).toMatchObject({ cause: "idle" });
	const asked = await session.send({ text: "ask", keys: ["Enter"], until: { match: "sure?" } });
	expect(asked).toMatchObject({ cause: "match" });
	expect(await session.send({ text: "y", keys: ["Enter"], until: { input: true } })).toMatchObject({
		cause: "input",
		state: { state: "waiting", kind: "line" },
	});
	expect(
		await session.send({ text: "b", keys: ["Enter"], until: { match: "never" } }, { timeoutMs: 50 }),
	).toMatchObject({
		cause: "timeout",
		exit: null,
	});
	expect(await session.send({ text: "end", keys: ["Enter"], until: { match: "never" } })).toMatchObject({
		cause: "exit",
		exit: { code: 7 },
		state: { state: "ended" },
	});
});

test("an expression matches within a line, also an unfinished one, and one that backtracks forever is given up", async () => {
	const session = await answering('echo "got $line"; printf "go on? "');
	const first = await session.send({ text: "12", keys: ["Enter"], until: { match: /^GOT \d+$/i } });
	expect(first).toMatchObject({ cause: "match", text: expect.stringContaining("got 12") });
	const asked = await session.send({ text: "13", keys: ["Enter"], until: { match: /^go on\? $/ } });
	expect(asked).toMatchObject({ cause: "match", text: expect.stringMatching(/go on\?\s*$/) });
	expect(await session.send({ text: "x", keys: ["Enter"], until: { match: "GOT X", ignoreCase: true } })).toMatchObject(
		{
			cause: "match",
		},
	);
	const slow = session.send({ text: `${"a".repeat(40)}!`, keys: ["Enter"], until: { match: /^got (a+)+$/ } });
	await expect(slow).rejects.toMatchObject({ code: "limit_exceeded" });
});

test("a wait for a stable screen ends when the screen stops changing", async () => {
	const session = await answering('for n in 1 2 3 4 5 6 7 8 9 10; do printf "\\r$(date +%s%3N)"; sleep 0.1; done');
	const stableMs = 500;
	const { cause, text } = await session.send({ text: "go", keys: ["Enter"], until: { stableMs } });
	const over = Date.now();
	expect(cause).toBe("stable");
	// The last line, unless the program paused this long in between.
	expect(over - Number(/\d{13}(?=\s*$)/.exec(text)?.[0])).toBeGreaterThanOrEqual(stableMs);
});

test("a program's last output is matched before its end is reported", async () => {
	const session = await answering('echo "bye $line"; exit 3');
	expect(await session.send({ text: "now", keys: ["Enter"], until: { match: "bye now" } })).toMatchObject({
		cause: "match",
	});
	expect(await session.send({ until: { match: "never" } })).toMatchObject({ cause: "exit", exit: { code: 3 } });
});

test("a shell is reported as back at its prompt", async () => {
	const session = await client.sessions.create({ argv: ["bash", "--norc"], env: { PS1: "$ " } });
	await session.send({ until: { end: true } });
	const answer = await session.send({ text: "echo a-$((1+1))", keys: ["Enter"], until: { end: true } });
	expect(answer).toMatchObject({ cause: "end", text: expect.stringContaining("a-2"), state: { state: "prompt" } });
});

test(`${ONE_CALL}: after kill -9 of the server, the same call to the next one types once and continues at the same offset`, async () => {
	const server = new CrashingServer(await temporaryDirectory());
	await server.start();
	onTestFinished(() => server.killAll());
	const times = { firstRetryMs: 20, lastRetryMs: 100 };
	const client = connect({ url: server.url, token: await server.token(), times });
	const home = await temporaryDirectory();
	const session = await client.sessions.create({
		command: "echo ready; while read line; do echo early; echo $line >>count; sleep 1; echo late; done",
		cwd: home,
	});
	await session.wait({ match: /ready/ });
	const answer = session.send({ text: "go", keys: ["Enter"], until: { match: "late" } });
	await eventually("the input to arrive", () => readCount(home) === "go\n");
	await server.kill();
	await server.start();
	const told = await answer;
	expect(told).toMatchObject({ cause: "match", text: expect.stringMatching(/go\s+early\s+late/) });
	expect(told.text).not.toContain("ready");
	expect(readCount(home)).toBe("go\n");
});

function readCount(home: string): string {
	try {
		return readFileSync(join(home, "count"), "utf8");
	} catch {
		return "";
	}
}

test.each([["bash"], ["bash", "--norc"], ["zsh"], ["fish"], ["dash"], ["cat"]])(
	"%s: the echo of the line just typed does not match, unless includeEcho asks for it",
	async (...argv) => {
		const home = await temporaryDirectory();
		writeFileSync(join(home, ".zshrc"), "");
		const session = await client.sessions.create({ argv, cwd: home, env: { HOME: home } });
		const answer = argv[0] === "cat" ? "finished" : "sleep 0.2; echo finished";
		await session.send({ until: { input: true, end: true } });
		for (const match of ["finished", /finished/]) {
			for (const paste of [false, true]) {
				const { cause, text } = await session.send({ text: answer, keys: ["Enter"], paste, until: { match } });
				expect(cause).toBe("match");
				expect(text).toMatch(/finished\n+finished/);
				if (argv[0] !== "cat") await session.send({ until: { end: true } });
			}
		}
		const echoed = await session.send({
			text: "cd finished",
			keys: ["Enter"],
			until: { match: "cd f", includeEcho: true },
		});
		expect(echoed.cause).toBe("match");
		await session.remove();
	},
);
