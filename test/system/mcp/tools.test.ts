import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { TestHawser } from "../../support/hawser-command.ts";
import { callTool, callToolText, connectOverHttp, eras, type McpClient, placeOf } from "../../support/mcp-client.ts";
import { eventually } from "../../support/reading.ts";
import { temporaryDirectory } from "../../support/temporary.ts";

let hawser: TestHawser;
beforeAll(async () => {
	hawser = await TestHawser.create();
});
afterAll(() => hawser.remove());

describe.each(eras)("MCP client of %s: six tools, both eras, text results with a budget", (era) => {
	let client: McpClient;
	/** Each era has its own sessions. */
	const own = (name: string) => `${name}-${era.slice(0, 4)}`;
	beforeAll(async () => {
		client = await connectOverHttp(await placeOf(hawser.stateDir), era);
	});
	afterAll(() => client.close());

	it("tools/list has six tools with short descriptions", async () => {
		expect(client.version).toBe(era);
		const { tools } = await client.listTools();
		expect(tools.map(({ name }) => name)).toEqual(["run", "start", "send", "read", "sessions", "stop"]);
		expect(tools.filter(({ outputSchema }) => outputSchema)).toEqual([]);
		expect(tools.filter(({ annotations }) => annotations?.readOnlyHint).map(({ name }) => name)).toEqual([
			"read",
			"sessions",
		]);
		expect(
			JSON.stringify(tools.map(({ name, description, inputSchema }) => ({ name, description, inputSchema }))).length,
		).toBeLessThanOrEqual(6150);
	});

	it("run executes commands in a shell that stays", async () => {
		const session = own("shell");
		expect(await callToolText(client, "run", { session, command: "cd /usr && X=1", cwd: "/tmp" })).toMatch(
			/^\[ended · exit 0 · /,
		);
		const text = await callToolText(client, "run", { session, command: "echo $PWD-$((X + 1))" });
		const header = `\\[ended · exit 0 · \\S+ s · ${session} · bytes \\d+–\\d+ of \\d+ · /usr\\]`;
		expect(text).toMatch(new RegExp(`^${header}\\n/usr-2\\n$`));
		expect(await callToolText(client, "run", { session, command: "pwd", cwd: "/usr" })).toMatch(/\n\/usr\n$/);
		expect(await callTool(client, "run", { session, command: "pwd", cwd: "/tmp" })).toEqual({
			text: "[invalid_argument] cwd: nothing was run; this shell is already running, in /usr; use cd in the command, or a new session name",
			isError: true,
		});
		expect(await callToolText(client, "run", { session, command: "(exit 3)" })).toMatch(
			/^\[ended · exit 3 · [^\n]*\]$/,
		);
		expect(await callToolText(client, "run", { session, command: "if true" })).toMatch(
			/^\[incomplete: nothing was run/,
		);
		expect(await callToolText(client, "run", { session, command: "fi" })).toMatch(/^\[rejected: [\s\S]*syntax error/);
		const lines = Array.from({ length: 400 }, (_, index) => `\tline ${index} of a file with a!b and "quotes"`).join(
			"\n",
		);
		const command = `cat <<'END' | wc -c\n${lines}\nEND`;
		expect(await callToolText(client, "run", { session, command })).toMatch(new RegExp(`\\n${lines.length + 1}\\n$`));
		const [, ...commands] = (await callToolText(client, "read", { session, what: "commands" })).split("\n");
		expect(commands.at(-1)).toMatch(/^cd \/usr && X=1 · exit 0 · bytes \d+–\d+ · \/usr$/);
	});

	it("parallel first runs of one new name share a shell", async () => {
		const session = own("shared");
		const runs = Array.from({ length: 6 }, () => callTool(client, "run", { session, command: "echo pid-$$" }));
		const answers = await Promise.all(runs);
		expect(answers.filter(({ isError }) => isError)).toEqual([]);
		const pids = answers.flatMap(({ text }) => /^pid-\d+$/m.exec(text)?.[0] ?? []);
		expect(new Set(pids).size).toBe(1);
		const others = answers.filter(({ text }) => !text.includes("\npid-"));
		expect(
			others.filter(
				({ text }) => !text.startsWith("[busy (another command runs; send types into it): nothing was run"),
			),
		).toEqual([]);
		const listed = (await callToolText(client, "sessions", { all: true })).split("\n");
		expect(listed.filter((line) => line.startsWith(`${session} `))).toHaveLength(1);
	});

	it("a run that ends its shell reports that, and the next run starts a new one", async () => {
		const session = own("killed");
		expect(await callToolText(client, "run", { session, command: "cd /usr" })).not.toContain("new shell");
		expect(await callToolText(client, "run", { session, command: "kill -9 $$" })).toMatch(
			/^\[ended · the session is over: exited · signal SIGKILL · /,
		);
		expect(await callToolText(client, "run", { session, command: "true" })).toMatch(
			/^\[ended · exit 0 · a new shell: directory, variables and jobs of the last one are gone · /,
		);
		expect(await callToolText(client, "run", { session, command: "true" })).not.toContain("new shell");
	});

	it("a run that waits for input reports that and takes an answer", async () => {
		const session = own("question");
		const ask = `read -p '${"All of this will be gone. ".repeat(6)}Sure? [y/N] ' answer; echo got-$answer`;
		const asked = await callToolText(client, "run", { session, command: ask });
		// The end of it, which is the question.
		expect(asked).toMatch(/^\[waiting for a line · \w+ · "…[^"]* gone\. Sure\? \[y\/N\]" · /);
		expect(await callToolText(client, "run", { session, command: "true" })).toMatch(
			/^\[busy \(another command runs; send types into it\): nothing was run · waiting for a line/,
		);
		expect(await callToolText(client, "send", { session, text: "y", keys: ["Enter"] })).toMatch(
			/^\[ended · exit 0 · [\s\S]*got-y/,
		);
	});

	it("a run that needs a secret asks for a person", async () => {
		const session = own("secret");
		const asked = await callToolText(client, "start", {
			command: "printf 'Password: '; stty -echo; read x",
			name: session,
		});
		expect(asked).toMatch(
			new RegExp(
				`^\\[waiting for a secret · sh · "Password:" · a person can enter it: hawser secret ${session}, or at http:\\S+/secret/[0-9a-f]{12} · `,
			),
		);
		expect(asked.match(/a person can/g)).toHaveLength(1);
		await callToolText(client, "stop", { session });
	});

	it("a run returns at its timeout, and a later call waits further", async () => {
		const session = own("slow");
		const go = join(await temporaryDirectory(), "go");
		const command = `mkfifo ${go}; read -t 0.1; cat ${go}; echo over-$((40 + 2))`;
		const first = await callToolText(client, "run", { session, command, wait: 1 });
		expect(first).toMatch(/^\[running · cat/);
		const since = Number(/bytes (\d+)/.exec(first)?.[1]);
		await writeFile(go, "");
		expect(await callToolText(client, "read", { session, since, until: { end: true } })).toMatch(
			/^\[ended · exit 0 · /,
		);
		expect(await callToolText(client, "read", { session, since, until: { match: "over-42" } })).toMatch(
			/^\[matched · [\s\S]*over-42/,
		);
	});

	it("read with until waits for the text, whatever it reads", async () => {
		const session = own("until");
		const go = join(await temporaryDirectory(), "go");
		await callToolText(client, "run", { session, command: `mkfifo ${go}` });
		for (const what of ["new", "output", "screen", "commands"]) {
			// Repeated, since the read may begin after the first.
			const command = `cat ${go}; while :; do echo over-${what}-$((40 + 2)); sleep 0.1; done`;
			await callToolText(client, "send", { session, text: command, keys: ["Enter"], until: { idle_ms: 1 } });
			const reading = callToolText(client, "read", {
				session,
				what,
				until: { match: `over-${what}-42`, timeout_s: 60 },
			});
			let isAnswered = false;
			void reading.finally(() => {
				isAnswered = true;
			});
			// A later request is answered earlier.
			await callToolText(client, "sessions", {});
			expect(isAnswered).toBe(false);
			await writeFile(go, "");
			const text = await reading;
			expect(text).toMatch(/^\[matched · /);
			expect(text).toContain(what === "commands" ? " · running · " : `over-${what}-42`);
			await callToolText(client, "send", { session, keys: ["C-c"], until: { end: true } });
		}
		expect(await callTool(client, "read", { session, what: "screen", at: 1, until: { idle_ms: 1 } })).toEqual({
			text: "[invalid_argument] until: cannot wait at a past byte offset (at); omit at or until",
			isError: true,
		});
		await callToolText(client, "stop", { session });
	});

	it("start runs a program, read returns its screen, and stop ends it", async () => {
		const name = own("editor");
		const argv = ["sh", "-c", "printf '\\033[?1049h\\033[2J\\033[3;5Hmenu'; stty raw; head -c 1; sleep 1000"];
		expect(await callToolText(client, "start", { argv, name })).toMatch(/^\[waiting for a key · head · /);
		const screen = await callToolText(client, "read", { session: name, what: "screen" });
		expect(screen).toMatch(/\n\[120×40, full screen · cursor at row 3, column 9 · revision \d+\]\n\n\n {4}menu/);
		expect(await callToolText(client, "sessions", {})).toContain(`${name} · waiting for a key · head · `);
		expect(await callToolText(client, "stop", { session: name })).toBe(`[exited · signal SIGHUP (killed) · ${name}]`);
		expect(await callToolText(client, "sessions", {})).not.toContain(name);
		expect(await callToolText(client, "stop", { session: name, forget: true })).toBe(`[forgotten · ${name}]`);
		expect(await callTool(client, "read", { session: name })).toMatchObject({ isError: true });
	});

	it("read returns the rendered screen, the alternate screen, and changes since a cursor", async () => {
		const session = own("vim");
		const started = await callToolText(client, "start", { argv: ["vim", "-u", "NONE", "-n"], name: session });
		// The output has no text, so the answer is the screen.
		expect(started).toMatch(
			/^\[full screen, waiting for keys · vim · [\s\S]*\n\[it shows now:\]\n[\s\S]*VIM - Vi IMproved/,
		);
		const typed = await callToolText(client, "send", { session, text: "ihello\nworld", keys: ["Escape"] });
		expect(typed).toMatch(/\n\[it shows now:\]\nhello\nworld\n~\n\[… the same line 36× more\]\n/);
		const screen = await callToolText(client, "read", { session, what: "screen", until: { stable_ms: 200 } });
		const [, facts, ...rows] = screen.split("\n");
		expect(facts).toMatch(/^\[120×40, full screen · cursor at row 2, column 5 · (title .* · )?revision \d+\]$/);
		expect(rows.slice(0, 4)).toEqual(["hello", "world", "~", "[… the same line 36× more]"]);
		const since = Number(/revision (\d+)/.exec(screen)?.[1]);
		const idle = await callToolText(client, "read", { session, what: "screen", since });
		expect(idle).toMatch(/\nno row has changed$/);
		expect(Buffer.byteLength(idle)).toBeLessThanOrEqual(200);
		await callToolText(client, "send", { session, text: "x" });
		const changed = await callToolText(client, "read", { session, what: "screen", since, until: { stable_ms: 200 } });
		expect(changed.split("\n").slice(2)[0]).toBe("row 2: worl");
		expect(changed).not.toContain("hello");
		await callToolText(client, "stop", { session });
	});

	it("read returns screen and commands at any past offset of a live session", async () => {
		const session = own("past");
		const first = await callToolText(client, "run", { session, command: "clear; echo one" });
		const [, from, to] = /bytes (\d+)–(\d+) of/.exec(first) ?? [];
		await callToolText(client, "run", { session, command: "clear; echo two" });
		const now = await callToolText(client, "read", { session, what: "screen" });
		expect(now).toMatch(/^two$/m);
		const then = await callToolText(client, "read", { session, what: "screen", at: Number(to) });
		expect(then).toMatch(new RegExp(` · as of byte ${to}\\]\\none$`));
		const commands = async (at: number) =>
			(await callToolText(client, "read", { session, what: "commands", at })).split("\n").slice(1);
		expect(await commands(Number(to))).toEqual([expect.stringMatching(/^clear; echo one · exit 0 · /)]);
		expect(await commands(Number(from) + 1)).toEqual([expect.stringMatching(/^clear; echo one · running · /)]);
		expect(await commands(0)).toEqual(["no command is known"]);
		expect(await commands(1e9)).toHaveLength(2);
	});

	it("an answer stays within the requested budget and states how to read the rest", async () => {
		const name = own("long");
		await callToolText(client, "start", { command: "seq 20000", name, wait: 10 });
		await eventually("its end", async () => (await callToolText(client, "sessions", {})).includes(name) === false);
		for (const max of [500, 9600, 80_000]) {
			const text = await callToolText(client, "read", { session: name, what: "output", max });
			expect(Buffer.byteLength(text)).toBeLessThanOrEqual(max);
			expect(text).toMatch(/\n20000\n$/);
			const [, since, limit] = /left out: since=(\d+) limit=(\d+)/.exec(text) ?? [];
			const missing = { session: name, what: "output", since: Number(since), limit: Math.min(50, Number(limit)) };
			const [, first] = (await callToolText(client, "read", missing)).split("\n");
			const [before] = text.slice(0, text.indexOf("[…")).trimEnd().split("\n").slice(-1);
			expect(Number(first)).toBe(Number(before) + 1);
		}
	});

	it("a session is found by an unambiguous prefix of its name or id", async () => {
		const names = [`${era}-one`, `${era}-two`];
		for (const name of names) await callToolText(client, "start", { command: `echo ${name}; read x`, name });
		expect(await callToolText(client, "read", { session: `${era}-o`, what: "output" })).toContain(`\n${era}-one\n`);
		expect(await callTool(client, "read", { session: era })).toMatchObject({
			text: expect.stringContaining(`session: ambiguous; there are 2 whose id or name begins with "${era}"`),
			isError: true,
		});
		for (const session of names) await callToolText(client, "stop", { session });
	});

	it("errors are explained in words", async () => {
		expect(await callTool(client, "run", { command: 7 })).toEqual({
			text: "[invalid_argument] command: must be a string, not 7",
			isError: true,
		});
		expect(await callTool(client, "read", { session: "unknown" })).toMatchObject({
			text: expect.stringMatching(/^\[session_not_found\] there is no session "unknown"/),
			isError: true,
		});
		for (const wrong of [
			{ argv: ["a\u0000b"] },
			{ argv: [""] },
			{ command: "true", cwd: "here" },
			{ command: "true", name: "a\u001bb" },
			{},
		]) {
			expect(await callTool(client, "start", wrong)).toMatchObject({
				text: expect.stringMatching(/^\[invalid_argument\]/),
			});
		}
		expect(await callTool(client, "start", { argv: ["/no/such/program"] })).toMatchObject({
			text: expect.stringMatching(/^\[spawn_failed\]/),
			isError: true,
		});
		await expect(client.callTool({ name: "dance", arguments: {} })).rejects.toThrow("there is no tool");
	});

	it("sessions can be read as resources", async () => {
		const name = own("resource");
		await callToolText(client, "start", { command: "echo hello; read x", name });
		const { resources } = await client.listResources();
		const uriOf = (view: string) => resources.find((one) => one.name === `${name}: ${view}`)?.uri ?? "";
		const read = async (uri: string) => {
			const [content] = (await client.readResource({ uri })).contents;
			return content && "text" in content ? String(content.text) : "";
		};
		expect(await read(uriOf("screen"))).toMatch(/^\[waiting for a line · sh · [\s\S]*\nhello$/);
		expect(await read(uriOf("output"))).toMatch(/\nhello\n$/);
		expect(await read(uriOf("state"))).toMatch(/^waiting for a line · sh/);
		expect(await read("hawser://sessions")).toContain(name);
		await expect(read("hawser://sessions/unknown/screen")).rejects.toThrow("there is no session");
	});
});
