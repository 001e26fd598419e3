/** Real programs: a terminal that comes back at any moment is the terminal that never left. */

import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { ScreenMessage } from "../../src/protocol/messages.ts";
import { type OpenedTerminal, openTerminal } from "../../src/screen/inside.ts";
import { eventually } from "../backends/run.ts";
import { startTestServer, type TestServer } from "../fronts/native/test-server.ts";
import { TestSocket } from "../fronts/native/test-socket.ts";
import { temporaryDirectory } from "../helpers/temporary.ts";
import { stateOf } from "./terminal-state.ts";

let server: TestServer;
beforeAll(async () => {
	server = await startTestServer({ memoryBytes: 8 * 1024 * 1024 });
});
afterAll(() => server.close());

const COLS = 80;
const ROWS = 24;

/** What is typed, the size that it is given, or that it is killed; and what is shown then. */
type Step = readonly [input: string | { cols: number; rows: number } | "killed", shown: string];
type Program = { readonly name: string; readonly argv: readonly string[]; readonly steps: readonly Step[] };

const ESC = "\x1b";
const TEXT = `${Array.from({ length: 200 }, (_, line) => `line ${line} 日本語 e\u0301 👩‍👩‍👧 ${"x".repeat(line)}`).join("\n")}\n`;

const programs: readonly Program[] = [
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
];

it.each(programs)("$name", { timeout: 60_000 }, async ({ argv, steps }) => {
	const cwd = await temporaryDirectory();
	await writeFile(join(cwd, "text"), TEXT);
	await writeFile(join(cwd, "tmux.conf"), `set -g default-command "env PS1='here$ ' sh"\n`);
	const env = { TERM: "xterm-256color", LANG: "C.UTF-8", LC_ALL: "C.UTF-8", TMUX: "" };
	const { id } = await server.create({ argv, cwd, env, cols: COLS, rows: ROWS });
	const stayed = await TestSocket.open(server.url, id, { role: "viewer" });
	const returned: TestSocket[] = [];
	const come = async () => {
		returned.push(await TestSocket.open(server.url, id, { role: "viewer", from: "screen", scrollback: 200 }));
	};
	for (const [input, shown] of steps) {
		if (input === "killed") await server.request(`/v1/sessions/${id}/kill`, { method: "POST" });
		else await (typeof input === "string" ? type(id, input) : resize(id, input));
		// In the middle of what that makes the program draw, and after it.
		await come();
		if (shown === "") continue;
		await eventually(async () => (await screenOf(id)).includes(shown), 20_000);
		await come();
	}
	await Promise.all([stayed, ...returned].map((socket) => socket.closed));
	const expected = shownTo(stayed);
	for (const socket of returned) expect(shownTo(socket)).toEqual(expected);
	expect(returned.length).toBeGreaterThan(2);
	expect(returned.filter(({ received }) => received.some((one) => "kind" in one && one.kind === "screen")).length).toBe(
		returned.length,
	);
});

async function type(id: string, text: string): Promise<void> {
	await server.request(`/v1/sessions/${id}/input`, {
		method: "POST",
		headers: { "content-type": "application/octet-stream" },
		body: text,
	});
}

async function resize(id: string, size: { cols: number; rows: number }): Promise<void> {
	await server.request(`/v1/sessions/${id}/resize`, {
		method: "POST",
		headers: { "content-type": "application/json" },
		body: JSON.stringify(size),
	});
}

async function screenOf(id: string): Promise<string> {
	const response = await server.request(`/v1/sessions/${id}/screen`);
	return ((await response.json()) as ScreenMessage).lines?.join("\n") ?? "";
}

/** What a terminal shows at the end that was given everything that this client was. */
function shownTo({ received }: TestSocket) {
	const terminal = openTerminal({ cols: COLS, rows: ROWS, scrollback: 200 });
	// As one: a character that is cut in two is another matter.
	let waiting: Uint8Array[] = [];
	const flush = () => {
		if (waiting.length > 0) terminal.inside.writeSync(Buffer.concat(waiting));
		waiting = [];
	};
	for (const one of received) {
		if ("kind" in one) {
			if (one.kind !== "receipt") waiting.push(one.bytes);
		} else if (one.type === "resized" || (one.type === "welcome" && one.screen)) {
			flush();
			resizeTo(terminal, one.type === "resized" ? one : one.screen);
		}
	}
	flush();
	// How much was scrolled away before a client came is its own business.
	return stateOf(terminal, { hasScrollback: false });
}

function resizeTo({ terminal }: OpenedTerminal, size: { cols: number; rows: number } | undefined): void {
	if (size) terminal.resize(size.cols, size.rows);
}
