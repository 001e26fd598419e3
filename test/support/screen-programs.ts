/** Programs that draw on terminals, with input for each: the subjects of screen tests. */

import { existsSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { ScreenMessage } from "../../src/api/types.ts";
import type { TestServer } from "./native-server.ts";
import { eventually } from "./reading.ts";
import { temporaryDirectory } from "./temporary.ts";

export const COLS = 80;
export const ROWS = 24;

/** Typed keys, a new size or a kill, and the expected screen afterwards. */
type Step = readonly [input: string | { cols: number; rows: number } | "killed", shown: string];
export type Program = { readonly name: string; readonly argv: readonly string[]; readonly steps: readonly Step[] };

/** The interpreter. */
export type ProgramServer = Pick<TestServer, "create" | "request">;

const ESC = "\x1b";
const TEXT = `${Array.from({ length: 200 }, (_, line) => `line ${line} 日本語 e\u0301 👩‍👩‍👧 ${"x".repeat(line)}`).join("\n")}\n`;

/** Debian's, because another one earlier in the path may have been built without curses. */
const python = existsSync("/usr/bin/python3") ? "/usr/bin/python3" : "python3";

/** Colors, lines, a window that scrolls inside its border, a pad, wide and combining characters. */
const DRAWING = `
import curses

def draw(screen, pad, drawn):
    height, width = screen.getmaxyx()
    screen.erase()
    screen.box()
    screen.noutrefresh()
    window = curses.newwin(height - 4, width // 2 - 2, 2, 1)
    window.scrollok(True)
    window.idlok(True)
    window.setscrreg(1, height - 6)
    for line in range(height * 2):
        window.addstr(f"line {line} 界\\n", curses.color_pair(line % 8))
        window.refresh()
    window.border()
    window.noutrefresh()
    pad.noutrefresh(drawn, 0, 2, width // 2, height - 3, width - 2)
    screen.addstr(0, 2, f" {width}x{height} drawn {drawn} ", curses.A_REVERSE | curses.A_BOLD)
    screen.noutrefresh()
    curses.doupdate()

def main(screen):
    curses.use_default_colors()
    for pair in range(1, 8):
        curses.init_pair(pair, pair, -1 if pair % 2 else 7 - pair)
    pad = curses.newpad(50, 50)
    for row in range(49):
        pad.addstr(row, row % 20, f"pad {row} 日本語 e\\u0301", curses.color_pair(row % 8) | curses.A_UNDERLINE)
    drawn = 0
    screen.timeout(200)
    while True:
        try:
            draw(screen, pad, drawn)
        except curses.error:
            # It has got another size in the middle of drawing.
            continue
        drawn += 1
        key = -1
        # A new size that comes just before it reads is noticed only when it reads again.
        while key == -1:
            key = screen.getch()
        if key == ord("q"):
            return

curses.wrapper(main)
`;

export const programs: readonly Program[] = [
	{
		name: "vim",
		argv: ["vim", "-u", "NONE", "-i", "NONE", "-N", "text"],
		steps: [
			["", "line 0"],
			[":syntax on\r:set number hlsearch\r", "  1 line 0"],
			[":split\r", "line 1"],
			["Gzt/line 150\r", "line 150"],
			["ihello 界\x1b", "hello 界"],
			[{ cols: 60, rows: 20 }, "hello 界"],
			[{ cols: 100, rows: 30 }, "hello 界"],
			[":!echo from the shell\r", "from the shell"],
			["\r:qa!\r", ""],
		],
	},
	{
		name: "emacs",
		argv: ["emacs", "-nw", "-Q", "text"],
		steps: [
			["", "line 0"],
			["\x182\x18o", "line 0"],
			[`${ESC}>`, "line 199"],
			["hello 界", "hello 界"],
			[{ cols: 60, rows: 20 }, "hello 界"],
			[{ cols: 100, rows: 30 }, "hello 界"],
			["\x12line 150", "I-search backward: line 150"],
			["\r\x181", "line 150"],
			["\x18\x03", "Save file"],
			["n", "yes or no"],
			["yes\r", ""],
		],
	},
	{
		name: "less",
		argv: ["less", "-R", "text"],
		steps: [
			["", "line 0"],
			["/line 42\r", "line 42"],
			["nnG", "(END)"],
			["gq", ""],
		],
	},
	{
		name: "nano",
		argv: ["nano", "-I", "text"],
		steps: [
			["", "line 0"],
			["typed ", "typed line 0"],
			["\x16\x16", "line 4"],
			["\x18", "Save"],
			["n", ""],
		],
	},
	{
		name: "top",
		argv: ["top", "-d", "0.2"],
		steps: [
			["", "PID"],
			["1", "%Cpu0"],
			["killed", ""],
		],
	},
	{
		name: "htop",
		argv: ["htop", "-d", "1"],
		steps: [
			["", "PID"],
			["t", "PID"],
			[`${ESC}[B`, "PID"],
			["q", ""],
		],
	},
	{
		name: "tmux",
		argv: ["tmux", "-S", "socket", "-f", "tmux.conf", "new-session"],
		steps: [
			["", "here$"],
			["\x02%", "│"],
			["echo one; seq 50\r", "50"],
			['\x02"', "─"],
			["killed", ""],
		],
	},
	{
		name: "a shell with a coloured prompt",
		argv: ["bash", "--norc", "--noprofile", "-i"],
		steps: [
			["PS1='\\[\\e[1;32m\\]me\\[\\e[0m\\]:\\[\\e[38;2;90;90;255m\\]\\w\\[\\e[m\\]$ '\r", "me:"],
			["cat text\r", "line 199"],
			["printf '\\033[3;10r\\033[?6h\\033[2;2Hmargins\\033[4h\\033(0qqq\\033(B\\033[4l\\033[?6l\\033[7m'\r", "margins"],
			["\x0f\x1b[A\x15clear\r", "me:"],
			[{ cols: 40, rows: 10 }, "me:"],
			["seq 30\r", "30"],
			[{ cols: 90, rows: 28 }, "30"],
			["exit\r", ""],
		],
	},
	{
		name: "progress bars",
		argv: [
			"sh",
			"-c",
			'for i in $(seq 300); do printf "\\r\\033[K\\033[32m%3d%%\\033[0m %s" $i "$(printf "%*s" $((i % 70)) "" | tr " " "#")"; [ $((i % 40)) -eq 0 ] && printf "\\n\\0337\\033[1;1H\\033[7mtop %d\\033[0m\\0338" $i; done; read -r x',
		],
		steps: [
			["", "300%"],
			["\r", ""],
		],
	},
	{
		name: "nvim",
		argv: ["nvim", "--clean", "-n", "-i", "NONE", "text"],
		steps: [
			["", "line 0"],
			[":set number hlsearch termguicolors\r", "  1 line 0"],
			[":vsplit\r", "│"],
			["/line 42\r", "line 42"],
			["ohello 界\x1b", "hello 界"],
			[{ cols: 60, rows: 20 }, "hello 界"],
			[":qa!\r", ""],
		],
	},
	{
		name: "mc",
		argv: ["mc", "--nosubshell"],
		steps: [
			["", "text"],
			[`${ESC}[20~`, "Left"],
			["\r", "File listing"],
			[`${ESC}${ESC}`, "text"],
			[{ cols: 100, rows: 30 }, "text"],
			[`${ESC}OF${ESC}OA${ESC}OR`, "line 0"],
			[`${ESC}[6~`, "line 2"],
			[`${ESC}[21~`, "Quit"],
			[`${ESC}[21~`, ""],
		],
	},
	{
		name: "a program of Python's curses",
		argv: [python, "drawing.py"],
		steps: [
			["", "drawn 0"],
			["x", "drawn 1"],
			["x", "drawn 2"],
			[{ cols: 50, rows: 16 }, "50x16"],
			["x", "drawn"],
			["q", ""],
		],
	},
	{
		name: "zsh with a coloured prompt on both sides",
		argv: ["zsh", "-f", "-i"],
		steps: [
			["PROMPT='%B%F{green}me%f%b:%F{63}here%f$ ' RPROMPT='%K{blue}%? left%k' PROMPT_EOL_MARK='%S@%s'\r", "0 left"],
			["printf 'no newline 界'\r", "no newline 界@"],
			["autoload -U compinit && compinit -D; zstyle ':completion:*' menu select\r", "me:here$"],
			["cat \t\t", "tmux.conf"],
			["\x03false\r", "1 left"],
			["ls -la --color=always /\r", "usr"],
			[{ cols: 50, rows: 12 }, "me:here$"],
			["exit\r", ""],
		],
	},
];

/**
 * Runs a program to its end. `look` is called during and after the output of each step. Resolves with the session's id
 * once the last step is made.
 */
export async function play(
	server: ProgramServer,
	{ argv, steps }: Program,
	look: (id: string) => Promise<void> = async () => {},
): Promise<string> {
	const cwd = await temporaryDirectory();
	await writeFile(join(cwd, "text"), TEXT);
	await writeFile(join(cwd, "tmux.conf"), `set -g default-command "env PS1='here$ ' sh"\n`);
	await writeFile(join(cwd, "drawing.py"), DRAWING);
	// Without user settings, and with all leftovers in this directory.
	const env = { TERM: "xterm-256color", LANG: "C.UTF-8", LC_ALL: "C.UTF-8", TMUX: "", HOME: cwd };
	const { id } = await server.create({ argv, cwd, env, cols: COLS, rows: ROWS });
	for (const [input, shown] of steps) {
		if (input === "killed") await server.request(`/v1/sessions/${id}/kill`, { method: "POST" });
		else await (typeof input === "string" ? type(server, id, input) : resize(server, id, input));
		await look(id);
		if (shown === "") continue;
		await eventually(`${JSON.stringify(shown)} to be shown`, async () => (await screenOf(server, id)).includes(shown));
		await look(id);
	}
	return id;
}

async function type(server: ProgramServer, id: string, text: string): Promise<void> {
	await server.request(`/v1/sessions/${id}/input`, {
		method: "POST",
		headers: { "content-type": "application/octet-stream" },
		body: text,
	});
}

async function resize(server: ProgramServer, id: string, size: { cols: number; rows: number }): Promise<void> {
	await server.request(`/v1/sessions/${id}/resize`, {
		method: "POST",
		headers: { "content-type": "application/json" },
		body: JSON.stringify(size),
	});
}

async function screenOf(server: ProgramServer, id: string): Promise<string> {
	const response = await server.request(`/v1/sessions/${id}/screen`);
	return ((await response.json()) as ScreenMessage).lines?.join("\n") ?? "";
}
