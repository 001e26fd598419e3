/** One call to type, to wait and to read, as clients of a server have it. */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, expect, onTestFinished, test } from "vitest";
import { type Client, connect } from "../../src/client/index.ts";
import { startTestServer, TOKEN } from "../fronts/native/test-server.ts";
import { CrashingServer } from "../helpers/crashing-server.ts";
import { eventually } from "../helpers/reading.ts";
import { temporaryDirectory } from "../helpers/temporary.ts";

let client: Client;
beforeAll(async () => {
	const server = await startTestServer();
	client = connect({ url: server.url, token: TOKEN });
	return () => server.close();
});

/** Answers each line with what a script does with it as `$line`. */
const answering = (script: string) => client.sessions.create({ command: `while read line; do ${script}; done` });

test("an answer that comes at once is not missed, and what was written before the call is not taken for it", async () => {
	const session = await answering('echo "got $line"');
	for (let turn = 0; turn < 50; turn++) {
		const answer = await session.send({ text: `${turn}`, keys: ["Enter"], until: { match: "got" } });
		expect(answer).toMatchObject({ cause: "match", text: expect.stringContaining(`got ${turn}`) });
		expect(answer.text).not.toContain(`got ${turn - 1}`);
	}
});

test("what ends the wait is told: silence, a question, the end of the program, or that the time is over", async () => {
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

test("a shell is back at its prompt", async () => {
	const session = await client.sessions.create({ argv: ["bash", "--norc"], env: { PS1: "$ " } });
	await session.send({ until: { end: true } });
	const answer = await session.send({ text: "echo a-$((1+1))", keys: ["Enter"], until: { end: true } });
	expect(answer).toMatchObject({ cause: "end", text: expect.stringContaining("a-2"), state: { state: "prompt" } });
});

test("a call whose server is killed types once, and is anchored where it first was", async () => {
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
	await eventually("that it was typed", () => readCount(home) === "go\n");
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
