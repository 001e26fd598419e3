/** The commands that show the state of a coding agent, or wait for it. */

import { afterAll, beforeAll, expect, test } from "vitest";
import { result, TestHawser } from "../../support/hawser-command.ts";
import { eventually } from "../../support/reading.ts";

let hawser: TestHawser;
beforeAll(async () => {
	hawser = await TestHawser.create();
});
afterAll(() => hawser.remove());

/** Reports the body of each line that it reads. */
const REPORTER = `stty -echo; printf ready; while IFS= read -r body; do printf '\\033]7501;%s\\007' "$body"; done`;
const QUESTION = `state=blocked:kind=permission:app=codex:msg=${Buffer.from("Run ls?").toString("base64")}`;

async function start(): Promise<string> {
	const id = await hawser.detached(REPORTER);
	await hawser.run(["wait", id, "--match", "ready"]);
	return id;
}

const report = (id: string, body: string) => hawser.run(["send", id, body, "--enter"]);

test("wait --for ends when the agent has the state, and prints its question", async () => {
	const id = await start();
	const waiting = result(hawser.start(["wait", id, "--for", "blocked,error", "--json"]));
	await report(id, "state=working:app=codex");
	await report(id, QUESTION);
	const { code, stdout } = await waiting;
	expect(code).toBe(0);
	expect(JSON.parse(stdout)).toMatchObject({ id, kind: "agent", agent: { state: "blocked", question: "Run ls?" } });
});

test("wait --for idle also ends with a finished turn, and --for working does not", async () => {
	const id = await start();
	await report(id, "state=done:app=codex");
	expect(await hawser.run(["wait", id, "--for", "idle", "--timeout", "20s"])).toMatchObject({ code: 0 });
	const late = await hawser.run(["wait", id, "--for", "working", "--timeout", "100ms"]);
	expect(late).toMatchObject({ code: 2, stderr: expect.stringContaining("had no agent in state working") });
});

test("after a failed turn, wait --for names the state and why prints the error", async () => {
	const id = await start();
	await report(id, `state=error:app=codex:msg=${Buffer.from("model overloaded").toString("base64")}`);
	await hawser.run(["wait", id, "--for", "error"]);
	const late = await hawser.run(["wait", id, "--for", "done", "--timeout", "100ms"]);
	expect(late.code).toBe(2);
	expect(late.stderr).toContain("had no agent in state done; its agent is in state error");
	expect((await hawser.run(["why", id])).stdout).toContain(
		'has failed in its turn · codex, by OSC 7501 · "model overloaded"',
	);
});

test("a prompt for a program that is no agent, or has ended, is refused with what would work", async () => {
	const id = await start();
	const shell = await hawser.run(["send", id, "tidy up", "--submit"]);
	expect(shell).toMatchObject({ code: 1, stderr: expect.stringContaining("hawser send SESSION TEXT --enter") });
	await hawser.run(["kill", id]);
	const ended = await hawser.run(["send", id, "tidy up", "--submit", "--queue"]);
	expect(ended).toMatchObject({ code: 1, stderr: expect.stringContaining("the session's program has ended") });
});

test("wait --for reports the end of the session, and refuses unknown states", async () => {
	const id = await start();
	const waiting = result(hawser.start(["wait", id, "--for", "done"]));
	await hawser.run(["kill", id]);
	expect(await waiting).toMatchObject({ code: 3 });
	const wrong = await hawser.run(["wait", id, "--for", "asleep"]);
	expect(wrong).toMatchObject({ code: 255, stderr: expect.stringContaining("choices: blocked, done, idle, error") });
});

test("ls and why show the state of the agent, and why --explain what decided", async () => {
	const id = await start();
	await report(id, QUESTION);
	await hawser.run(["wait", id, "--for", "blocked"]);
	expect((await hawser.run(["ls"])).stdout).toContain("blocked (permission)");
	const listed = JSON.parse((await hawser.run(["ls", "--json"])).stdout) as { id: string; agent: unknown }[];
	expect(listed.find((one) => one.id === id)?.agent).toMatchObject({ app: "codex", state: "blocked" });
	const why = (await hawser.run(["why", id])).stdout;
	expect(why).toContain('waits for permission · codex, by OSC 7501 · "Run ls?"');
	expect(why).not.toContain("kernel");
	const { stdout } = await hawser.run(["why", id, "--explain"]);
	expect(stdout).toContain("decided by OSC 7501: blocked (state=blocked:kind=permission)");
	expect(stdout).toContain("the kernel says");
	const json = JSON.parse((await hawser.run(["why", id, "--json"])).stdout);
	expect(json).toMatchObject({ agent: { state: "blocked" }, explanation: { decisive: { signal: "osc7501" } } });
	await report(id, "state=clear");
	await eventually("no agent", async () =>
		(await hawser.run(["why", id, "--explain"])).stdout.includes("no signal of"),
	);
});
