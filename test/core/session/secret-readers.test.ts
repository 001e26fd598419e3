/** A secret is typed exactly where `inspect` reports that one is read. */

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, onTestFinished, test } from "vitest";
import { spawn } from "../../../src/backends/spawn.ts";
import { systemClock } from "../../../src/backends/system-clock.ts";
import { SessionError } from "../../../src/core/errors.ts";
import type { PromptIdentity } from "../../../src/core/input/action.ts";
import { isSecretRead, isWaitingForInput } from "../../../src/core/inspect/inspection.ts";
import { LocalSession } from "../../../src/core/session/local-session.ts";
import type { Session } from "../../../src/core/session/session.ts";
import { eventually, outputUntil, write } from "../../support/reading.ts";
import { startOf } from "../../support/starts.ts";

const home = mkdtempSync(join(tmpdir(), "hawser-secrets-"));
afterAll(() => rmSync(home, { recursive: true, force: true }));
const settings = ["env", `HOME=${home}`, `TMUX_TMPDIR=${home}`, "TERM=xterm-256color"];

async function start(argv: readonly string[]): Promise<Session> {
	const session = await LocalSession.start(startOf([...settings, ...argv], { cwd: home }), {
		spawn,
		clock: systemClock,
	});
	onTestFinished(() => session.kill({ graceMs: 0 }));
	return session;
}

/** "typed", or the code and the message of the refusal. */
const outcome = (session: Session, secret: string, question: PromptIdentity = {}) =>
	session.secret(Buffer.from(secret), question).then(
		() => "typed",
		(error: unknown) => `${SessionError.from(error).code}: ${(error as Error).message}`,
	);
const bash = (script: string) => ["bash", "--norc", "-c", script];
/** How the readers below encode their input: unencoded it would be masked. */
const rot13 = (text: string) =>
	text.replaceAll(/[a-z]/g, (letter) => String.fromCharCode(97 + ((letter.charCodeAt(0) - 84) % 26)));
const READ = 'read -s x; echo; echo "heard $(printf %s "$x" | tr a-z n-za-m)"';

const readers: readonly [string, readonly string[]][] = [
	["read -s", bash(READ)],
	["read -s with a timeout, which polls", bash(READ.replace("-s", "-s -t 600"))],
	["a reader in a recorder", ["script", "-qc", `bash --norc -c '${READ}'`, "/dev/null"]],
	["a reader in tmux", ["tmux", "-f", "/dev/null", "-L", "secret", "new", `bash --norc -c '${READ}; sleep 1000'`]],
	[
		"a reader behind a program that passes keys on",
		["/usr/bin/python3", "-c", "import pty, sys; pty.spawn(sys.argv[1:])", ...bash(READ)],
	],
];

describe("a secret is typed where the state reports that one is read", () => {
	test.each(readers)("a secret is read by %s", async (_, argv) => {
		const session = await start(argv);
		const found = await eventually("a secret to be read", async () => {
			const seen = await session.inspect();
			return isSecretRead(seen) ? seen : undefined;
		});
		expect(found).toMatchObject({ state: "waiting", kind: "secret" });
		expect(await outcome(session, "hunter-two")).toBe("typed");
		expect(await outputUntil(session, new RegExp(`heard ${rot13("hunter-two")}`))).not.toContain("hunter-two");
	});

	test("a secret is read by a program that reads only some time after its prompt", async () => {
		const session = await start(bash(`stty -echo; echo ready; sleep 0.3; ${READ}`));
		await outputUntil(session, /ready/);
		expect(await outcome(session, "hunter-two")).toBe("typed");
		await outputUntil(session, new RegExp(`heard ${rot13("hunter-two")}`));
	});
});

const SHOWN = "its terminal echoes input";
const OTHERWISE = "it waits for something else";
const others: readonly [string, string, readonly string[]][] = [
	["a line is read and shown", SHOWN, bash("echo ready; read x")],
	["a line is read and shown in a recorder", OTHERWISE, ["script", "-qc", "echo ready; cat", "/dev/null"]],
	["keys are read without echo", OTHERWISE, bash("stty raw -echo; echo ready; exec cat")],
	[
		"a terminal on the way to the reader shows what is typed",
		SHOWN,
		[
			"/usr/bin/python3",
			"-c",
			"import pty, os, sys\npid, fd = pty.fork()\nif pid == 0: os.execvp('bash', ['bash', '-c', 'echo ready; read -s x'])\nwhile True: os.write(1, os.read(fd, 99))",
		],
	],
];

describe("a secret is refused where the state does not report that one is read", () => {
	test.each(others)("a secret is refused where %s: %s", async (_, why, argv) => {
		const session = await start(argv);
		await outputUntil(session, /ready/);
		const found = await eventually("a wait", async () => {
			const seen = await session.inspect();
			return isWaitingForInput(seen) ? seen : undefined;
		});
		expect(isSecretRead(found)).toBe(false);
		const refused = `not_waiting: the program does not read a secret now: ${why}`;
		expect(await outcome(session, "hunter-two")).toBe(refused);
		// Nor as the answer to that wait.
		expect(await outcome(session, "hunter-two", { at: found.offset, episode: found.episode })).toBe(refused);
	});

	test("a secret is refused while no process reads, and the next reader gets nothing of it", async () => {
		const flag = join(home, "go");
		const script = `stty -echo; echo ready; until [ -e ${flag} ]; do sleep 0.01; done; stty echo; read x; echo "heard<$x>"`;
		const session = await start(bash(script));
		await outputUntil(session, /ready/);
		expect(isSecretRead(await session.inspect())).toBe(false);
		expect(await outcome(session, "hunter-two")).toBe(
			"not_waiting: the program does not read a secret now: no process reads the terminal",
		);
		writeFileSync(flag, "");
		await write(session, "next\n");
		expect(await outputUntil(session, /heard<.*>/)).toContain("heard<next>");
	});

	test("a secret is refused behind an unread line that was typed ahead", async () => {
		const session = await start(bash("stty -echo; echo ready; exec sleep 1000"));
		await outputUntil(session, /ready/);
		await write(session, "early\n");
		expect(await outcome(session, "hunter-two")).toMatch(/^not_waiting: /);
	});
});

test("of two concurrent secrets for one question the program gets one, and the other is refused", async () => {
	const session = await start(bash(`${READ}; read y; echo "then<$y>"`));
	await eventually("a secret to be read", async () => isSecretRead(await session.inspect()));
	const outcomes = await Promise.all([outcome(session, "first-one"), outcome(session, "second-one")]);
	expect(outcomes.filter((each) => each === "typed")).toHaveLength(1);
	expect(outcomes.filter((each) => each.startsWith("not_waiting: "))).toHaveLength(1);
	await outputUntil(session, new RegExp(`heard (${rot13("first-one")}|${rot13("second-one")})`));
	await write(session, "next\n");
	expect(await outputUntil(session, /then<.*>/)).toContain("then<next>");
});
