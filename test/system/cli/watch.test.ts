/** `hawser watch` in a real terminal, rendered by the emulator, against real programs. */

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { type Client, connect } from "../../../src/client/node/index.ts";
import { XtermModel } from "../../../src/emulator/xterm-model.ts";
import { LEFT, Terminal, type TerminalOptions } from "../../support/cli-terminal.ts";
import { TestHawser } from "../../support/hawser-command.ts";
import { temporaryDirectory } from "../../support/temporary.ts";

let hawser: TestHawser;
let client: Client;
beforeAll(async () => {
	hawser = await TestHawser.create();
	client = connect({ stateDir: hawser.stateDir });
});
afterAll(() => hawser.remove());

const ENTER = "\r";
/** The sequences that a terminal sends around a complete picture. */
const [BEGIN, END] = ["\u001b[?2026h", "\u001b[?2026l"];
/** Asks two questions and prints the answers. */
const ASKS =
	"read -r -p 'Push 3 commits? [y/N] ' a; echo \"got:$a\"; read -r -p 'Really? ' b; echo \"more:$b\"; sleep 600";
const SECRET = "read -r -s -p 'Password: ' it; echo; printf 'length %d\n' $(printf %s \"$it\" | wc -c); sleep 600";

/** A table in a terminal, and what a user sees of it. */
class Table {
	readonly terminal: Terminal;
	readonly #model: XtermModel;
	#fed = 0;

	private constructor(terminal: Terminal, size: { cols: number; rows: number }) {
		this.terminal = terminal;
		this.#model = new XtermModel(size);
	}

	static async open(args: readonly string[], options: TerminalOptions = {}): Promise<Table> {
		const { cols = 80, rows = 24 } = options;
		return new Table(await Terminal.start(hawser, ["watch", ...args], options), { cols, rows });
	}

	/** The rows of the last complete picture. */
	get lines(): readonly string[] {
		const bytes = this.terminal.run.bytes();
		const begun = bytes.lastIndexOf(BEGIN);
		const end = begun > bytes.lastIndexOf(END) ? Math.max(begun, this.#fed) : bytes.byteLength;
		this.#model.feed(bytes.subarray(this.#fed, end));
		this.#fed = end;
		return this.#model.view().lines;
	}

	/** The names in the table from the top. */
	get names(): readonly string[] {
		const heading = this.lines.findIndex((line) => /^ +NAME/.test(line));
		const rows = this.lines.slice(heading + 1);
		const end = rows.findIndex((line) => line.trim() === "");
		return rows.slice(0, end).map((line) => line.slice(2).split(" ")[0] ?? "");
	}

	lineOf(name: string): string {
		return this.lines.find((line) => line.slice(2).startsWith(`${name} `)) ?? "";
	}

	/** Resolves once the picture matches. */
	async shows(isRight: () => boolean): Promise<void> {
		try {
			await this.terminal.run.until(isRight);
		} catch {
			throw new Error(`it never showed ${isRight}, but:\n${this.lines.join("\n")}`);
		}
	}

	resize(cols: number, rows: number): void {
		void this.lines;
		this.#model.resize({ cols, rows });
		this.terminal.resize(cols, rows);
	}

	type(text: string): Promise<void> {
		return this.terminal.type(text);
	}

	async quit(): Promise<void> {
		await this.type("q");
		expect(await this.terminal.ended()).toEqual(LEFT);
	}
}

/** A program in a session with this test's label. */
async function start(test: string, name: string, script: string): Promise<string> {
	const argv = ["bash", "--norc", "-c", script];
	const { id } = await client.sessions.create({ argv, name, mode: "pty", labels: { test } });
	onTestFinished(async () => {
		await client.sessions.at(id).remove({ force: true });
	});
	return id;
}

/** The output of `hawser watch` without a terminal. */
function watchedLines(args: readonly string[]): () => string {
	const child = hawser.start(["watch", ...args]);
	onTestFinished(() => void child.kill());
	let printed = "";
	child.stdout?.setEncoding("utf8").on("data", (text: string) => {
		printed += text;
	});
	return () => printed;
}

const ended = (id: string) => expect.poll(async () => (await client.sessions.at(id).info()).state).toBe("closed");
const wrote = async (id: string) => (await client.sessions.at(id).text()).text;

describe("watch", () => {
	it("watch sorts sessions: needs attention first, then running, then ended; an answer reaches its program once", async () => {
		const only = ["--label", "test=order"];
		await ended(await start("order", "well", "true"));
		await ended(await start("order", "broken", "echo no such target; exit 3"));
		await start("order", "works", "sleep 600");
		const asks = await start("order", "asks", ASKS);
		await start("order", "locked", SECRET);
		const table = await Table.open(only);
		await table.shows(() => table.names.join(" ") === "asks locked broken works well");
		expect(table.lines[0]).toMatch(/^3 need you · 1 running · 1 ended/);
		expect(table.lineOf("asks")).toMatch(/^> asks +asks +\d+s {2}Push 3 commits\? \[y\/N\]/);
		expect(table.lineOf("locked")).toMatch(/needs a secret +\d+s {2}Password:/);
		// The list rereads the last line of an ended session without waiting for it.
		await table.shows(() => /failed \(exit 3\) +\d+s {2}no such target/.test(table.lineOf("broken")));
		expect(table.lineOf("well")).toMatch(/exit 0/);
		await table.type(ENTER);
		await table.shows(() => /^answer asks \[y\/N\]:/.test(table.lines.at(-1) ?? ""));
		// The second Enter must go nowhere, also not to the program's next question.
		await table.type(`n\u007fy${ENTER}${ENTER}`);
		await table.shows(() => /^Sent "y" to asks/.test(table.lines.at(-1) ?? ""));
		await table.shows(() => /Really\?/.test(table.lineOf("asks")));
		expect((await wrote(asks)).split("got:y")).toHaveLength(2);
		expect(await wrote(asks)).not.toContain("more:");
		await table.type("G");
		await table.shows(() => table.lineOf("well").startsWith("> "));
		await table.quit();
		expect(table.terminal.output).toContain("\u001b[?1049l");
	});

	it("watch refuses to answer a question that has changed since it was read, and reports that", async () => {
		const id = await start("late", "changed", ASKS);
		const table = await Table.open(["--label", "test=late"]);
		// Its last output is shown before the program is known to wait.
		await table.shows(() => / asks .*Push/.test(table.lineOf("changed")));
		await table.type(`${ENTER}yes`);
		await table.shows(() => /^answer changed \[y\/N\]: yes/.test(table.lines.at(-1) ?? ""));
		await client.sessions.at(id).write("n\r");
		await table.shows(() => /the question changed/.test(table.lines.at(-1) ?? ""));
		await table.type(ENTER);
		await table.shows(() => /^Not sent: changed no longer asks this/.test(table.lines.at(-1) ?? ""));
		expect(await wrote(id)).not.toContain("more:");
		await table.quit();
	});

	it("watch lists held actions first, and decides on one only after all of it was displayed", async () => {
		const gate = { match: ["rm -rf"] };
		const { token } = await client.tokens.create({ scopes: ["workspace:default:manage"], name: "agent", gate });
		const agent = connect({ stateDir: hawser.stateDir, token });
		await start("held", "asks", ASKS);
		const id = await start("held", "work", "cat");
		const type = (text: string) => {
			const written = agent.sessions.at(id).write(text);
			written.catch(() => {});
			return written;
		};
		await expect.poll(async () => (await client.sessions.at(id).inspect()).state).toBe("waiting");
		const json = hawser.start(["watch", "--json", "--needs-me"]);
		onTestFinished(() => void json.kill());
		const objects: string[] = [];
		if (json.stdout) createInterface(json.stdout).on("line", (line) => objects.push(line));
		const table = await Table.open(["--notify", "osc9"]);
		const last = () => table.lines.at(-1) ?? "";
		await table.shows(() => table.names.join(" ") === "asks work" && /Push/.test(table.lineOf("asks")));
		await expect.poll(() => objects.length).toBeGreaterThan(0);

		const granted = type("rm -rf this\r");
		await table.shows(() => table.names.join(" ") === "work asks");
		expect(table.lineOf("work")).toMatch(/needs approval +\d+s {2}4m left, agent wants to type: rm -rf this/);
		await table.terminal.shows("]9;hawser: 2 sessions need you, first work (needs approval): 4m left, agent wants");
		await expect.poll(() => objects.join()).toContain('"preview":"rm -rf this\\n"');
		// A key that arrives in the same read was typed before the action could be read.
		await table.type(`gy${ENTER}`);
		await table.shows(() => /^Approve once\? 4m left Enter\/Esc/.test(last()));
		expect(table.lines.slice(2, 6)).toEqual([
			"agent wants to type in work",
			expect.stringContaining(id),
			"",
			"rm -rf this",
		]);
		expect(await client.approvals.list()).toHaveLength(1);
		await table.type(ENTER);
		await table.shows(() => /^Approved: work\./.test(last()));
		await granted;
		await expect.poll(() => wrote(id)).toBe("rm -rf this\nrm -rf this\n");

		const denied = type("rm -rf that\r");
		await table.shows(() => /rm -rf that/.test(table.lineOf("work")));
		await table.type("gn");
		await table.shows(() => /^deny \(4m left\); note for agent:/.test(last()));
		await table.type(`not here${ENTER}`);
		await expect(denied).rejects.toMatchObject({ message: expect.stringContaining("denied by admin: not here") });
		await table.shows(() => table.names.join(" ") === "asks work");

		const late = agent.sessions.create({ argv: ["echo", "rm -rf x"], name: "new" });
		late.catch(() => {});
		await table.shows(() => /needs approval.*agent wants to start a program: echo rm/.test(table.lineOf("new")));
		await table.type("gy");
		await table.shows(() => /^Approve once/.test(last()));
		const [{ id: approval } = { id: "" }] = await client.approvals.list();
		await client.approvals.decide(approval, { decision: "deny" });
		await table.shows(() => /no longer pending/.test(last()));
		await table.type(ENTER);
		await table.shows(() => /^Too late: it expired or was decided by someone else; nothing was done/.test(last()));
		await table.shows(() => table.names.join(" ") === "asks work");
		await table.quit();
	});

	it("watch never displays a secret, and sends it only to its program", async () => {
		const id = await start("secret", "locked", SECRET);
		const table = await Table.open(["--label", "test=secret"]);
		await table.shows(() => / needs a secret .*Password/.test(table.lineOf("locked")));
		await table.type(ENTER);
		await table.shows(() => /^secret for locked \(hidden\):/.test(table.lines.at(-1) ?? ""));
		await table.type(`hunter2-and-more${ENTER}`);
		await table.shows(() => /length 16/.test(table.lineOf("locked")));
		await table.quit();
		expect(table.terminal.screen).not.toContain("hunter2");
		expect((await client.audit({ session: id })).entries.map(({ action }) => action)).toContain("secret");
		expect(await wrote(id)).toContain("length 16");
	});

	it("watch escapes control sequences in names and output of programs", async () => {
		const hostile = "\u001b]52;c;aGk=\u0007\u001b]2;pwned\u0007\u001b[2J\u009b31m";
		await start(
			"hostile",
			"hostile",
			`printf '\\033]52;c;aGk=\\007\\033]2;pwned\\007\\033[6nGo on? \\033[31m'; read -r x; : '${hostile}'`,
		);
		const table = await Table.open(["--label", "test=hostile"], { cols: 250 });
		await table.shows(() => /Go on\?/.test(table.lineOf("hostile")));
		await table.shows(() => table.lines.some((line) => line.includes("\\x1b]52")));
		await table.quit();
		for (const effect of ["\u001b]52", "pwned\u0007", "\u001b[6n", "\u009b"]) {
			expect(table.terminal.output).not.toContain(effect);
		}
	});

	it("watch fits a narrow terminal, attaches to a session and returns, and stops one on request", async () => {
		const id = await start("narrow", "a-name-that-is-rather-long", `${ASKS}`);
		const table = await Table.open(["--label", "test=narrow"]);
		await table.shows(() => /Push/.test(table.lines[2] ?? ""));
		table.resize(40, 14);
		await table.shows(() => /^> a-name-that… {2}asks +\d+s {2}….*\[y\/N\]/.test(table.lines[2] ?? ""));
		await table.shows(() => table.lines.includes("Push 3 commits? [y/N]"));
		expect(table.lines).toHaveLength(14);
		await table.type("o");
		await table.terminal.attached();
		await table.type(`n${ENTER}`);
		await table.terminal.shows("got:n");
		await table.type("~.");
		await table.shows(() => /^> a-name-that… .*Really\?/.test(table.lines[2] ?? ""));
		await table.type("x");
		await table.shows(() => /^Kill a-name.*y\/N/.test(table.lines.at(-1) ?? ""));
		await table.type("n");
		await table.shows(() => /^Enter answer/.test(table.lines.at(-1) ?? ""));
		await table.type("xy");
		await table.shows(() => /killed/.test(table.lines[2] ?? ""));
		expect((await client.sessions.at(id).info()).exit).toMatchObject({ reason: "killed" });
		await table.quit();
	});

	it("watch filters by words and by need", async () => {
		await start("filter", "first", "sleep 600");
		await start("filter", "second", ASKS);
		const table = await Table.open(["--label", "test=filter"]);
		await table.shows(() => table.names.join(" ") === "second first");
		await table.type("/fir");
		await table.shows(() => table.names.join(" ") === "first");
		await table.type("\u001b");
		await table.shows(() => table.names.length === 2);
		await table.type("m");
		await table.shows(() => table.names.join(" ") === "second");
		await table.type("?");
		await table.shows(() => table.lines.some((line) => line.startsWith("o               open in")));
		await table.type(" ");
		await table.shows(() => table.names.join(" ") === "second");
		await table.quit();
	});

	it("watch answers the first session of the filter, and does not run answers as commands where no question is open", async () => {
		const id = await start("burst", "locked", SECRET);
		await start("burst", "asks", ASKS);
		await start("burst", "works", "sleep 600");
		const table = await Table.open(["--label", "test=burst"]);
		await table.shows(
			() => / needs a secret .*Password/.test(table.lineOf("locked")) && table.names.at(-1) === "works",
		);
		await table.type("G");
		await table.shows(() => table.lines.some((line) => line.startsWith("> works")));
		await table.type(`/lock${ENTER}${ENTER}swordfish${ENTER}`);
		await table.shows(() => /length 9/.test(table.lineOf("locked")));
		expect(await wrote(id)).not.toContain("swordfish");
		await table.type("\u001b");
		await table.shows(() => table.names.length === 3);
		// As a command it would stop the session or end the table.
		await table.type(`/works${ENTER}${ENTER}xyxyq${ENTER}`);
		await table.shows(() => /^works is not asking anything/.test(table.lines.at(-1) ?? ""));
		await table.type("\u001b");
		await table.shows(() => table.names.length === 3 && !/killed/.test(table.lineOf("works")));
		await table.quit();
	});

	it("watch suspends and continues like any program, and restores the terminal when a signal ends it", async () => {
		await start("signals", "works", "sleep 600");
		const job = 'set -m; job() { "$@"; echo "<stopped>"; fg; }; set -- job "$@"';
		const table = await Table.open(["--label", "test=signals"], { before: job });
		await table.shows(() => table.names.join(" ") === "works");
		await table.type("\u001a");
		await table.terminal.shows("<stopped>");
		await table.shows(() => table.names.join(" ") === "works");
		const [before = "", after = ""] = table.terminal.output.split("<stopped>");
		expect(before.slice(before.lastIndexOf("works"))).toContain("\u001b[?1049l");
		expect(after).toContain("\u001b[?1049h");
		await table.type("\u0003");
		expect(await table.terminal.ended()).toEqual({ code: 130, isRestored: true });

		const killed = await Table.open(["--label", "test=signals"], {
			before:
				'job() { "$@" & echo "<pid $!>"; wait $!; }; exec 3<&0; job() { "$@" <&3 & echo "<pid $!>"; wait $!; }; set -- job "$@"',
		});
		await killed.shows(() => killed.names.join(" ") === "works");
		const [, pid] = /<pid (\d+)>/.exec(killed.terminal.screen) ?? [];
		process.kill(Number(pid), "SIGTERM");
		expect(await killed.terminal.ended()).toEqual({ code: 143, isRestored: true });
		expect(killed.terminal.output.slice(killed.terminal.output.lastIndexOf("works"))).toContain("\u001b[?1049l");
	});

	it("watch notifies through the terminal and through a command that gets the facts", async () => {
		const folder = await temporaryDirectory();
		const command = `printf '%s|%s|%s' "$HAWSER_NOTIFY_NAME" "$HAWSER_NOTIFY_KIND" "$HAWSER_NOTIFY_QUESTION" > ${folder}/told`;
		await start("notify", "works", "sleep 600");
		await ended(await start("notify", "broken", "exit 3"));
		const table = await Table.open(["--label", "test=notify", "--notify", "osc9", "--notify-command", command]);
		await table.shows(() => table.names.join(" ") === "broken works");
		await start("notify", "news", "read -r -p 'Go; on? ' x");
		await table.terminal.shows("\u001b]9;hawser: 2 sessions need you, first news (asks): Go, on?\u001b\\\u0007");
		expect(table.terminal.output.split("\u001b]9;")).toHaveLength(2);
		await expect.poll(() => readFile(join(folder, "told"), "utf8").catch(() => "")).toBe("news|asks|Go; on?");
		await table.quit();
	});

	it.each(["a table", "lines"])(
		"watch notifies of questions asked since it started, and of no older ones, as %s",
		async (how) => {
			const folder = await temporaryDirectory();
			const test = `since-${how.replace(" ", "-")}`;
			const command = `echo "$HAWSER_NOTIFY_NAME|$HAWSER_NOTIFY_COUNT|$HAWSER_NOTIFY_QUESTION" >> ${folder}/told`;
			const told = () => readFile(join(folder, "told"), "utf8").catch(() => "");
			const old = Array.from({ length: 8 }, (_, index) => `old${index}`);
			const ids = await Promise.all(old.map((name) => start(test, name, `read -r -p 'Old ${name}? ' x`)));
			// A question that is asked after the first list is a new one.
			for (const [index, id] of ids.entries()) {
				const asked = `Old ${old[index]}? `.length;
				await expect
					.poll(async () => (await client.sessions.at(id).info()).offsets?.end, { timeout: 15_000 })
					.toBe(asked);
			}
			const args = ["--label", `test=${test}`, "--notify-command", command];
			const table = how === "lines" ? undefined : await Table.open(args);
			const texts = table ? () => table.lines.join("\n") : watchedLines(args);
			await expect.poll(() => old.every((name) => texts().includes(`Old ${name}?`)), { timeout: 15_000 }).toBe(true);
			await start(test, "news", "read -r -p 'New? ' x");
			await expect.poll(told, { timeout: 15_000 }).toBe("news|9|New?\n");
		},
	);

	it("watch without a terminal prints changes as lines of text or JSON", async () => {
		await ended(await start("lines", "old", "true"));
		const id = await start("lines", "asks", "read -r -p 'Go on? ' x");
		const json = hawser.start(["watch", "--json", "--label", "test=lines"]);
		const text = hawser.start(["watch", "--label", "test=lines"]);
		onTestFinished(() => [json, text].forEach((child) => void child.kill()));
		const linesOf = (child: typeof json) => {
			const lines: string[] = [];
			if (child.stdout) createInterface(child.stdout).on("line", (line) => lines.push(line));
			return lines;
		};
		const [objects, words] = [linesOf(json), linesOf(text)];
		for (const lines of [objects, words])
			await expect.poll(() => lines.some((line) => line.includes("Go on?"))).toBe(true);
		await client.sessions.at(id).write("y\r");
		for (const lines of [objects, words]) await expect.poll(() => lines.at(-1)).toContain("exit 0");
		// Between its answer and its exit the program runs. Watch reports that if it takes long enough.
		const told = words.map((line) => line.split("  ").slice(1)).filter(([, word]) => word !== "running");
		expect(told).toEqual([
			["asks", "asks", "Go on?"],
			["asks", "exit 0"],
		]);
		expect(words.join()).not.toContain("old");
		const changes = objects.map((line) => JSON.parse(line) as { word: string });
		const [first, second] = changes.filter(({ word }) => word !== "running");
		expect(first).toMatchObject({ id, word: "asks", need: { kind: "asks", question: "Go on?" } });
		expect(second).toMatchObject({ id, word: "exit 0", exit: { code: 0 }, need: null });
		expect((await hawser.run(["watch", "--notify"])).stderr).toContain("use --notify-command");
	});

	it("watch reports a failure once, with the program's last output", async () => {
		const id = await start("once", "build", "echo compiling; read -r; echo 'error: no such thing'; exit 3");
		const child = hawser.start(["watch", "--label", "test=once"]);
		onTestFinished(() => void child.kill());
		const lines: string[] = [];
		if (child.stdout) createInterface(child.stdout).on("line", (line) => lines.push(line));
		await expect.poll(() => lines.length).toBe(1);
		await client.sessions.at(id).write("\r");
		await expect.poll(() => lines.length).toBe(2);
		// Events of another session that come later are printed after all of this one's.
		const other = await start("once", "other", "read -r -p 'Go on? ' x");
		await expect.poll(() => lines.at(-1)).toContain("Go on?");
		expect((await client.sessions.at(other).info()).state).toBe("running");
		expect(lines.filter((line) => line.includes("build")).map((line) => line.split("  ").slice(1))).toEqual([
			["build", "running"],
			["build", "failed (exit 3)", "error: no such thing"],
		]);
	});

	it("watch continues after a restart of the server", async () => {
		const id = await start("restart", "asks", ASKS);
		const table = await Table.open(["--label", "test=restart"]);
		await table.shows(() => /Push/.test(table.lineOf("asks")));
		await hawser.stopServer("SIGKILL");
		await table.shows(() => /reconnecting/.test(table.lines[0] ?? ""));
		expect(table.names).toEqual(["asks"]);
		await hawser.startServer();
		await table.shows(
			() => !/reconnecting/.test(table.lines[0] ?? "") && /asks +asks .*Push/.test(table.lineOf("asks")),
		);
		await table.type(`${ENTER}y${ENTER}`);
		await table.shows(() => /Really\?/.test(table.lineOf("asks")));
		expect(await wrote(id)).toContain("got:y");
		await table.quit();
	});
});
