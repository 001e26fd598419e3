// @module-tag slow

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ECHO, LEFT, Terminal } from "../../support/cli-terminal.ts";
import { TestHawser } from "../../support/hawser-command.ts";

let hawser: TestHawser;
beforeAll(async () => {
	hawser = await TestHawser.create();
});
afterAll(() => hawser.remove());

/** Resolves once the session's program has written this text, in the output of any client. */
async function hasWritten(id: string, match: RegExp): Promise<void> {
	const { kind } = await (await hawser.client()).sessions.at(id).wait({ match });
	expect(kind).toBe("match");
}

/** A program that redraws on every change of size. Bash would lose a change that arrives while it draws. */
const DRAWS = `
import os, signal, time
def draw(*_): os.write(1, b"<%dx%d>" % os.get_terminal_size())
signal.signal(signal.SIGWINCH, draw)
draw()
while True: time.sleep(0.05)
`;

/** Makes a command throw an uncaught error. */
const CRASHING = `NODE_OPTIONS='--import "data:text/javascript,process.on(\`SIGUSR2\`,()=>{throw(7)})"'`;

describe("attach", () => {
	it("attach shows earlier output, sends typed input, and leaves on ~.", async () => {
		const id = await hawser.detached(ECHO);
		const terminal = await Terminal.start(hawser, ["attach", id]);
		await terminal.attached();
		await terminal.shows("ready");
		await terminal.type("hello\r");
		await terminal.shows("[hello]");
		await terminal.type("~~x\ra~.\r\u001d\u001d\r");
		await terminal.shows("[~x]");
		await terminal.shows("[a~.]");
		await terminal.shows("[\u001d]");
		await terminal.type("~.");
		expect(await terminal.ended()).toEqual(LEFT);
		expect(terminal.output).toContain(`detached; reattach with: hawser attach ${id}`);
		expect((await hawser.run(["ls", "--json"])).stdout).toContain(id);
	});

	it("attach leaves on Ctrl-] d after sending what was typed before", async () => {
		const id = await hawser.detached(ECHO);
		const terminal = await Terminal.start(hawser, ["attach", id]);
		await terminal.attached();
		await terminal.type("last words\r\u001dd");
		expect(await terminal.ended()).toEqual(LEFT);
		await hasWritten(id, /\[last words\]/);
	});

	it.each([
		["exit 7", 7],
		["kill -TERM $$", 143],
	])("attach exits with the program's code: %s", async (ending, code) => {
		const id = await hawser.detached(`read -r line; ${ending}`);
		const terminal = await Terminal.start(hawser, ["attach", id]);
		await terminal.attached();
		await terminal.type("\r");
		expect(await terminal.ended()).toEqual({ code, isRestored: true });
		const again = await Terminal.start(hawser, ["attach", id]);
		expect(await again.ended()).toEqual({ code, isRestored: true });
	});

	it("attach sends Ctrl-C, Ctrl-Z and Ctrl-\\ to the program", async () => {
		const id = await hawser.detached(
			`trap 'echo "<int>"' INT; trap 'echo "<quit>"' QUIT; trap '' TSTP; echo ready; while :; do read -r x; done`,
		);
		const terminal = await Terminal.start(hawser, ["attach", id]);
		await terminal.attached();
		await terminal.shows("ready");
		await terminal.type("\u0003");
		await terminal.shows("<int>");
		await terminal.type("\u001a\u001c");
		await terminal.shows("<quit>");
		await terminal.type("\u0003\r~.");
		expect(await terminal.ended()).toEqual(LEFT);
	});

	it("attach sets the program's size on attaching and on every change", async () => {
		// A bash trap would lose a SIGWINCH that arrives while it prints.
		const id = await hawser.detached(
			'while :; do s=$(stty size); [ "$s" = "$p" ] || echo "$s"; p=$s; read -r -t 0.05 x; done',
		);
		await hasWritten(id, /24 80/);
		const terminal = await Terminal.start(hawser, ["attach", id], { cols: 100, rows: 33 });
		await terminal.attached();
		await terminal.shows("24 80");
		await terminal.shows("33 100");
		terminal.resize(111, 44);
		await terminal.shows("44 111");
		const viewer = await Terminal.start(hawser, ["attach", id, "--view"], { cols: 50, rows: 10 });
		await viewer.attached();
		await viewer.shows("44 111");
		expect(viewer.screen).toContain("session size is 111x44; this terminal is smaller (50x10)");
		viewer.resize(60, 12);
		await viewer.type("ignored\r~.");
		expect(await viewer.ended()).toEqual(LEFT);
		expect((await hawser.run(["logs", id])).stdout).not.toMatch(/ignored|12 60|10 50/);
		await hawser.run(["resize", id, "90x20"]);
		await terminal.shows("20 90");
		await terminal.type("\u001dd");
		expect(await terminal.ended()).toEqual(LEFT);
	});

	it("attach passes a bare line feed on when the program wants one", async () => {
		const id = await hawser.detached("stty -onlcr -echo; read -r x; printf 'a\\nb<done>'; read -r x");
		const terminal = await Terminal.start(hawser, ["attach", id]);
		await terminal.attached();
		await terminal.type("\r");
		await terminal.shows("<done>");
		expect(terminal.screen).toContain("a\nb<done>");
		await terminal.type("\u001dd");
		expect(await terminal.ended()).toEqual(LEFT);
	});

	it("attach resets the modes that a full-screen program set", async () => {
		const id = await hawser.detached("printf '\\033[?1049h\\033[?1000;1006h\\033[?2004h\\033[?25lfull'; read -r x");
		const terminal = await Terminal.start(hawser, ["attach", id]);
		await terminal.attached();
		await terminal.shows("full");
		await terminal.type("\u001dd");
		expect(await terminal.ended()).toEqual(LEFT);
		const [, after = ""] = terminal.output.split("full");
		for (const sequence of ["?1000l", "?1006l", "?2004l", "?25h", "?1049l"])
			expect(after).toContain(`\u001b[${sequence}`);
	});

	it("attach does not repeat answered queries to the terminal", async () => {
		const id = await hawser.detached(
			"stty -echo; printf 'old\\033[6n\\033[c.'; read -r x; printf 'new\\033[6n.'; read -r x",
		);
		await hasWritten(id, /old\./);
		const terminal = await Terminal.start(hawser, ["attach", id]);
		await terminal.attached();
		await terminal.shows("old");
		const screen = terminal.output.slice(terminal.output.indexOf("\u001b[!p"));
		for (const effect of ["\u0007", "\u001b]52", "\u001b]9", "\u001b[5i"]) expect(screen).not.toContain(effect);
		await terminal.type("\r");
		await terminal.shows("new\u001b[6n.");
		await terminal.type("\u001dd");
		expect(await terminal.ended()).toEqual(LEFT);
	});

	it("attach repeats no side effects of old output beyond the screen, and restores the title and the colors", async () => {
		const id = await hawser.detached(
			"stty -echo; printf 'old\\007\\033]52;c;aGk=\\007\\033]9;hi\\007\\033[5ix\\033[4i.'; read -r x; printf '\\033]2;mine\\007\\033]11;#000\\007\\033[31mnew\\007.'; read -r x",
		);
		await hasWritten(id, /old.*\./);
		const terminal = await Terminal.start(hawser, ["attach", id]);
		await terminal.attached();
		await terminal.shows("old");
		const screen = terminal.output.slice(terminal.output.indexOf("\u001b[!p"));
		for (const effect of ["\u0007", "\u001b]52", "\u001b]9", "\u001b[5i"]) expect(screen).not.toContain(effect);
		await terminal.type("\r");
		await terminal.shows("new\u0007.");
		await terminal.type("\u001dd");
		expect(await terminal.ended()).toEqual(LEFT);
		const [before = "", after = ""] = terminal.output.split("new\u0007.");
		expect(before).toContain("\u001b[22;0t");
		for (const sequence of ["\u001b[23;0t", "\u001b[0m", "\u001b]111\u0007"]) expect(after).toContain(sequence);
	});

	it("attach shows its keys and the other clients, and takes control on request", async () => {
		const id = await hawser.detached(ECHO);
		const terminal = await Terminal.start(hawser, ["attach", id]);
		await terminal.attached();
		await terminal.shows("ready");
		await terminal.type("~?");
		await terminal.shows("list attached clients");
		const other = await Terminal.start(hawser, ["attach", id, "--escape", "%"]);
		await other.shows("%. at the start of a line");
		await other.attached();
		await terminal.type("~W");
		await terminal.shows("2 attached: admin, admin; ");
		await terminal.type("~T");
		await terminal.shows("you have control");
		await other.shows("you are now a viewer");
		await other.type("~.\r%.");
		expect(await other.ended()).toEqual(LEFT);
		await terminal.type("~.");
		expect(await terminal.ended()).toEqual(LEFT);
	});

	it("attach makes a full-screen program redraw", async () => {
		const id = await hawser.detached(`exec /usr/bin/python3 -c '${DRAWS}'`);
		await hasWritten(id, /<80x24>/);
		const terminal = await Terminal.start(hawser, ["attach", id], { cols: 70, rows: 20 });
		await terminal.attached();
		await terminal.shows("<70x20>");
		await terminal.type("\u001dr");
		await terminal.shows("<70x20>", 2);
		await terminal.type("\u001dd");
		expect(await terminal.ended()).toEqual(LEFT);
		// A busy program may have missed the change of size.
		expect((await hawser.run(["export", id])).stdout).toMatch(/"r","69x20"\]\n(.*\n)*.*"r","70x20"\]/);
	});

	it.each([
		["TERM", 143],
		["HUP", 129],
		["INT", 130],
		// Not a signal that the tests send, but one that a bug would cause.
		["USR2", 255],
	] as const)("attach restores the terminal when SIG%s ends it", async (signal, code) => {
		const id = await hawser.detached("printf '\\033[?1049hfull'; read -r x");
		const terminal = await Terminal.start(hawser, ["attach", id], { before: `trap : ${signal}; export ${CRASHING}` });
		await terminal.attached();
		await terminal.shows("full");
		process.kill(-(terminal.run.process.terminal()?.foreground ?? 0), `SIG${signal}`);
		expect(await terminal.ended()).toEqual({ code, isRestored: true });
		expect(terminal.output).toContain("\u001b[?1049l");
	});

	it("attach shows the screen with some pages of history, and all of it on request", async () => {
		const id = await hawser.detached('for i in $(seq 60000); do echo "line $i"; done; read -r x');
		await hasWritten(id, /^line 60000$/m);
		const [terminal, whole] = await Promise.all([
			Terminal.start(hawser, ["attach", id]),
			Terminal.start(hawser, ["attach", id, "--all"]),
		]);
		await terminal.shows("line 60000");
		expect(terminal.output).toContain("line 59900");
		expect(terminal.output).not.toContain("line 59000");
		await whole.shows("line 60000\r\n");
		expect(whole.output).toContain("line 1\r\nline 2\r\n");
		const fresh = await Terminal.start(hawser, ["attach", id, "--since", "end"]);
		await fresh.attached();
		await fresh.type("\u001dd");
		expect(await fresh.ended()).toEqual(LEFT);
		expect(fresh.output).not.toContain("line 60000");
	});

	it.each([
		[["attach", "nosuch"], 'no session "nosuch"'],
		[["attach", "--view", "--take"], "cannot be used together"],
		[["attach", "--since", "soon"], 'or "end"'],
		[["attach", "--nonsense"], "unknown option"],
	])("attach exits with 255 and one sentence on an error: %j", async (args, sentence) => {
		const terminal = await Terminal.start(hawser, args);
		expect(await terminal.ended()).toEqual({ code: 255, isRestored: true });
		expect(terminal.output).toContain(sentence);
	});

	it("attach in view-only mode reports that input is not sent", async () => {
		const id = await hawser.detached(ECHO);
		const viewer = await Terminal.start(hawser, ["attach", id, "--view"]);
		await viewer.attached();
		expect(viewer.output).toContain("view only");
		await viewer.type("abc\r");
		await viewer.shows("view only (--view): input is not sent");
		await viewer.type("~T");
		await viewer.shows("viewers cannot take control or redraw");
		await viewer.type("~?");
		await viewer.shows("list attached clients");
		await viewer.type("~.");
		expect(await viewer.ended()).toEqual(LEFT);
		expect(viewer.output).not.toMatch(/ {2}(take exclusive control|redraw)\s*$/m);
	});

	it("attach with a read-only token reports that, and does not take control", async () => {
		const id = await hawser.detached(ECHO);
		const { stdout } = await hawser.run(["token", "create", "--scope", `session:${id}:view`]);
		const args = ["attach", id, "--token", stdout.trim()];
		const viewer = await Terminal.start(hawser, args);
		await viewer.attached();
		expect(viewer.output).toContain("view only (this token may not write); input is not sent;");
		await viewer.type("abc\r");
		await viewer.shows("view only (this token may not write): input is not sent");
		await viewer.type("~T");
		await viewer.shows("viewers cannot take control or redraw");
		await viewer.type("~W");
		await viewer.shows("1 attached; no one has control");
		await viewer.type("~.");
		expect(await viewer.ended()).toEqual(LEFT);
		const taker = await Terminal.start(hawser, [...args, "--take"]);
		expect(await taker.ended()).toEqual({ code: 255, isRestored: true });
		expect(taker.output).toContain("this token may not operate");
	});

	it("attach suspends on ~^Z, and redraws the program's screen when it is continued", async () => {
		const id = await hawser.detached(`printf '\\033[?1049h\\033[?2004h'; ${ECHO}`);
		const job = 'set -m; job() { "$@"; echo "<stopped>"; fg; }; set -- job "$@"';
		const terminal = await Terminal.start(hawser, ["attach", id], { before: job });
		await terminal.attached();
		await terminal.shows("ready");
		await terminal.type("one\r~\u001a");
		await terminal.shows("<stopped>");
		await terminal.attached();
		await terminal.type("two\r");
		await terminal.shows("[two]");
		await terminal.type("~.");
		expect(await terminal.ended()).toEqual(LEFT);
		const [before = "", after = ""] = terminal.output.split("<stopped>");
		expect(before).toContain("\u001b[?2004l\u001b[?1049l");
		expect(after).toContain("\u001b[?1049h\u001b[?2004h");
	});

	it("attach refuses to run without a terminal", async () => {
		expect(await hawser.run(["attach"])).toMatchObject({
			code: 255,
			stderr: expect.stringContaining("hawser logs -f"),
		});
	});
});

describe("attach to a program on pipes", () => {
	const LINES = "trap 'echo int' INT; echo one; echo two; while read -r line; do echo \"[$line]\"; done; echo over";

	it("attach to pipes ends lines with CRLF, sends input line by line, and leaves on ~.", async () => {
		const id = await hawser.detached(LINES, { mode: "pipe" });
		const terminal = await Terminal.start(hawser, ["attach", id]);
		await terminal.shows("one\r\ntwo\r\n");
		await terminal.type("hello\n");
		await terminal.shows("hello\r\n[hello]\r\n");
		await terminal.type("~.\n");
		expect(await terminal.ended()).toEqual(LEFT);
		expect((await hawser.run(["ls"])).stdout).toContain(id);
	});

	it("attach to pipes sends Ctrl-C as a signal and Ctrl-D as the end of input", async () => {
		const id = await hawser.detached(
			"trap 'echo int' INT; echo one; while :; do cat; [ $? -gt 128 ] || break; done; echo over",
			{ mode: "pipe" },
		);
		const terminal = await Terminal.start(hawser, ["attach", id], { before: "trap : INT" });
		await terminal.shows("one\r\n");
		await terminal.type("\u0003");
		await terminal.shows("int\r\n");
		await terminal.type("\u0004");
		await terminal.shows("over\r\n");
		expect(await terminal.ended()).toEqual(LEFT);
	});
});
