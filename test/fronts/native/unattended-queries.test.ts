/**
 * Acceptance test 7: terminal queries are answered with no client attached, and junk is never typed.
 *
 * Common programs, started at a shell prompt. The test that a file full of queries types nothing at any prompt is in
 * `core/replies.test.ts`, where the clock can be advanced.
 */

import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Session } from "../../../src/core/session/session.ts";
import { PatientClock } from "../../support/fake-clock.ts";
import { startTestServer, type TestServer } from "../../support/native-server.ts";
import { outputUntil, write } from "../../support/reading.ts";
import { TestSocket } from "../../support/socket-client.ts";
import { temporaryDirectory } from "../../support/temporary.ts";

const clock = new PatientClock();
let server: TestServer;
beforeAll(async () => {
	// A reply that is late because this process was delayed is dropped.
	server = await startTestServer({ clock });
});
afterAll(async () => {
	await server.close();
	clock.stop();
	expect(server.problems).toEqual([]);
});

/**
 * A program that waits for a reply in vain does so for 10 s (fish). None takes this long by itself, also on a busy
 * machine.
 */
const PROMPT_MS = 8_000;
const PROMPT = "<prompt>";

/** bash at its prompt, with no client attached. */
async function shell(): Promise<Session> {
	// A home without shell files: tmux would start a shell with them.
	const env = { HOME: await temporaryDirectory() };
	const { id } = await server.create({ argv: ["bash", "--norc", "--noprofile", "-i"], shellHooks: false, env });
	const session = server.sessions.get(id);
	if (!session) throw new Error("it has just been made");
	await write(session, "PS1='<pro''mpt>'\n");
	await outputUntil(session, /<prompt>/);
	return session;
}

/** Types a line and resolves with the output up to the expected text. */
async function typed(session: Session, keys: string, until: RegExp): Promise<string> {
	const { offset } = await session.end();
	await write(session, keys);
	return outputUntil(session, until, { offset });
}

const answered = async (session: Session) => (await session.receipt("hawser:replies")).next;

/**
 * Queries the cursor position, as crossterm does, at five places with a timeout of five seconds. If the reply is the
 * last row, as when the screen was not known in time, or missing, as when the whole process is delayed, it repeats the
 * query. Prints the replies.
 */
const cursorLoop = ({ first, more, last }: { first: string; more: string; last: string }) => `
import os, select, termios, tty
before = termios.tcgetattr(0)
tty.setraw(0)
os.write(1, b"${first}")
def ask(row, col):
    os.write(1, b"\\x1b[%d;%dHx\\x1b[6n${more}" % (row, col))
    got = b""
    while not got.endswith(b"${last}") and select.select([0], [], [], 5)[0]:
        got += os.read(0, 1)
    return got.replace(b"\\x1b", b"").decode() if got else "[24;1R"
told = []
for i in range(5):
    answers = (ask(3 + i, 5 + i) for _ in range(20))
    told.append(next((answer for answer in answers if not answer.startswith("[24;1R")), "nothing"))
os.write(1, b"\\x1b[?6l\\x1b[r")
termios.tcsetattr(0, termios.TCSADRAIN, before)
print("told", *told)
`;

describe("acceptance test 7: answers terminal queries without an attached terminal, and never types junk", () => {
	it.each([
		["vim", "vim -u NONE -i NONE -n", /~/, ":q!\r"],
		["nvim", "nvim --clean -n", /~/, ":q!\r"],
		["tmux", `tmux -L hawser-test-${process.pid} -f /dev/null new`, /\[0\] 0:/, "exit\r"],
		["fish", "fish --no-config --private", /[>#] /, "exit\r"],
		["zsh", "zsh -f", /[#%$] /, "exit\r"],
	])("%s starts soon, and leaves nothing typed at the prompt of its shell", async (_name, command, isReady, leave) => {
		const session = await shell();
		const began = performance.now();
		await typed(session, `clear; ${command}\r`, isReady);
		expect(performance.now() - began).toBeLessThan(PROMPT_MS);
		await typed(session, leave, /<prompt>$/);
		const before = await answered(session);
		expect(await typed(session, "echo do''ne\r", /done\r\n.*<prompt>$/s)).toMatch(
			/^echo do''ne\r\n(?:\u001b\[\?2004l\r)?done\r\n(?:\u001b\[\?2004h)?<prompt>$/,
		);
		expect(await answered(session)).toBe(before);
		await session.kill({ signal: "SIGKILL" });
	});

	it.each([
		["alone", { first: "", more: "", last: "R" }, ""],
		[
			"among other things",
			{ first: "", more: "\\x1b]11;?\\x07\\x1b[c", last: "c" },
			"]11;rgb:0000/0000/0000\\[?62;22c",
		],
		["counting from the first row that it scrolls", { first: "\\x1b[2;20r\\x1b[?6h", more: "", last: "R" }, ""],
	])(
		"a program that queries its cursor position, %s, gets the exact position each time",
		async (_how, asking, rest) => {
			const session = await shell();
			const file = join(await temporaryDirectory(), "cursor.py");
			await writeFile(file, cursorLoop(asking));
			const output = await typed(session, `python3 '${file}'\r`, /told.*<prompt>$/s);
			const told = ["[3;6R", "[4;7R", "[5;8R", "[6;9R", "[7;10R"].map((answer) => answer + rest);
			expect(output).toContain(`told ${told.join(" ")}\r\n`);
			expect(output.endsWith(PROMPT)).toBe(true);
			await session.kill({ signal: "SIGKILL" });
		},
	);

	it("with two capable viewers exactly one is assigned the reply", async () => {
		const session = await shell();
		const attach = (stream: string) => TestSocket.open(server.url, session.id, { stream, replies: true });
		const viewers = [await attach("one"), await attach("two")];
		await viewers[0]?.message("replies");
		const { offset } = await session.end();
		await typed(session, "stty raw -echo; printf 'ask\\033[c'; sleep 1000\r", /ask\u001b\[c/);
		const { offset: end } = await session.end();
		expect(end).toBeGreaterThan(offset);
		await Promise.all(viewers.map((viewer) => viewer.text((text) => text.endsWith("\u001b[c"))));
		const turns = viewers.map(({ messages }) =>
			messages.flatMap((one) => (one.type === "replies" && one.from < end ? [one.mine] : [])).at(-1),
		);
		expect(turns.filter((mine) => mine === true)).toHaveLength(1);
		expect(await answered(session)).toBe(0);
		await session.kill({ signal: "SIGKILL" });
	});
});
