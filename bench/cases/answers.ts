/** Length of the answers that an agent reads for a task, compared with tmux, and whether they contain the facts. */

import { execFile } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import type { Case, Sample } from "../case.ts";
import { type Served, serving } from "../served.ts";
import type { Workshop } from "../workshop.ts";

/** A usual estimate. Tokenizers differ, but most are within a fifth of it. */
const CHARACTERS_PER_TOKEN = 4;
/** The usual size of agents' shells. */
const SIZE = { cols: 120, rows: 40 };
/** Largest share of the tokens that an agent would read with the full output. */
const LARGEST_SHARE = 0.25;
/** Lines that tmux keeps in its history: enough for all output. */
const HISTORY = 10_000;
/** Interval and time limit of waiting for an editor to show typed text, in milliseconds. */
const LOOK_MS = 20;
const TIMEOUT_MS = 10_000;

/** A task of an agent, and the facts that its answer must contain. */
type Task = {
	readonly name: string;
	readonly command: string;
	/** Typed into the program that the command starts. */
	readonly text?: string;
	readonly facts: readonly RegExp[];
};

const INSTALL = `
import sys
for i in range(2000):
    sys.stdout.write("\\x1b[1G\\x1b[0K" + "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"[i % 10] + " reify:package-%d: timing reifyNode Completed in %dms" % (i % 90, i))
    if i % 80 == 79: print("\\x1b[1G\\x1b[0Knpm warn deprecated package-%d@1.0.0: it is old, and so on and so forth" % i)
print("\\x1b[1G\\x1b[0K\\nadded 300 packages in 4s")`;

const TESTS = `
import sys
for i in range(1200):
    if i == 417: print("\\x1b[31mFAIL\\x1b[0m src/parser.test.js > parses an empty file\\n  expected [] but got null\\n    at src/parser.test.js:33:5")
    else: print("\\x1b[32m✓\\x1b[0m src/module-%d.test.js > does what it should (%d ms)" % (i, i % 7))
print("\\nTests  1 failed | 1199 passed")
sys.exit(1)`;

const TASKS: readonly Task[] = [
	{ name: "install", command: "python3 install.py", facts: [/added 300 packages/] },
	{ name: "tests", command: "python3 tests.py", facts: [/parses an empty file/, /1 failed/, /exit 1\b/] },
	{ name: "log", command: "git --no-pager log", facts: [/change 299\b/, /change 298\b/] },
	{ name: "vim", command: "vim -u NONE -n install.py", text: "ggOhello", facts: [/^hello$/m, /^import sys$/m] },
];

export function answersCase(): Case {
	return {
		name: "answers",
		title: "Length of answers for agents",
		note: `tokens (characters / ${CHARACTERS_PER_TOKEN}) of the answers to four tasks in a shell of ${SIZE.cols} × ${SIZE.rows}: an install with a progress bar, a test run of 1200 with one failure, a log of 300 commits, a line typed in vim; over MCP, and as \`tmux capture-pane\` gives them, with its whole history or the screen alone; and how many of the ${factCount()} facts are missing`,
		rounds: { full: 1, quick: 1 },
		metrics: [
			...TASKS.map(({ name }) => ({ key: name, title: name, digits: 0 })),
			{ key: "all", title: "all, tokens", digits: 0 },
			{ key: "missing", title: "facts missing", digits: 0 },
		],
		bars: [
			{
				title: "share of tmux with its whole history",
				value: (round) => round("hawser", "all") / round("tmux, all", "all"),
				digits: 2,
				atMost: LARGEST_SHARE,
			},
			{ title: "facts missing", value: (round) => round("hawser", "missing"), digits: 0, atMost: 0, isStrict: true },
		],
		variants: [
			{ name: "hawser", measure: (workshop) => serving(workshop, (server) => askHawser(server, siteOf(workshop))) },
			{ name: "tmux, all", measure: (workshop) => askTmux(workshop, ["-S", "-"]) },
			{ name: "tmux, screen", measure: (workshop) => askTmux(workshop, []) },
		],
	};
}

function factCount(): number {
	return TASKS.flatMap(({ facts }) => facts).length;
}

/** Files that the tasks need. */
function siteOf(workshop: Workshop): string {
	const site = workshop.newSite();
	mkdirSync(site, { recursive: true });
	writeFileSync(join(site, "install.py"), INSTALL.trimStart());
	writeFileSync(join(site, "tests.py"), TESTS.trimStart());
	const commit = (index: number) =>
		`commit refs/heads/main\ncommitter A <a@example.org> ${1_700_000_000 + index} +0000\ndata <<END\nchange ${index}\n\nWhy it was made, in a sentence or two.\nEND\n\n`;
	const history = Array.from({ length: 300 }, (_, index) => commit(index)).join("");
	writeFileSync(join(site, "history"), history);
	return site;
}

const PREPARE = "git init -q . && git fast-import --quiet < history && git symbolic-ref HEAD refs/heads/main";

function judge(answers: ReadonlyMap<string, string>): Sample {
	const tokens = TASKS.map(({ name }) => [name, (answers.get(name) ?? "").length / CHARACTERS_PER_TOKEN] as const);
	const missing = TASKS.flatMap(({ name, facts }) => missingIn(answers.get(name) ?? "", facts));
	const all = tokens.reduce((sum, [, count]) => sum + count, 0);
	return { ...Object.fromEntries(tokens), all, missing: missing.length };
}

async function askHawser({ target }: Served, site: string): Promise<Sample> {
	const call = async (name: string, args: object): Promise<string> => {
		const response = await fetch(`http://127.0.0.1:${target.port}/mcp`, {
			method: "POST",
			headers: {
				authorization: `Bearer ${target.token}`,
				"content-type": "application/json",
				accept: "application/json, text/event-stream",
			},
			body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name, arguments: args } }),
		});
		const [, message = ""] = /^data: (.*)$/m.exec(await response.text()) ?? [];
		const { result } = JSON.parse(message) as { result: { content: readonly { text: string }[] } };
		return result.content.map(({ text }) => text).join("");
	};
	const session = "agent";
	await call("run", { session, command: PREPARE, cwd: site });
	const answers = new Map<string, string>();
	for (const { name, command, text } of TASKS) {
		const answer = await call("run", { session, command });
		answers.set(name, text === undefined ? answer : await call("send", { session, text, keys: ["Escape"] }));
	}
	return judge(answers);
}

async function askTmux(workshop: Workshop, range: readonly string[]): Promise<Sample> {
	const site = siteOf(workshop);
	const settings = join(site, "tmux.conf");
	writeFileSync(settings, `set-option -g history-limit ${HISTORY}\n`);
	const tmux = async (...args: readonly string[]): Promise<string> => {
		const options = { cwd: site, env: { ...process.env, TMUX_TMPDIR: site }, maxBuffer: 64 * 1024 * 1024 };
		return (await promisify(execFile)("tmux", ["-L", "bench", "-f", settings, ...args], options)).stdout;
	};
	const type = (...keys: readonly string[]) => tmux("send-keys", "-t", "agent", ...keys);
	/** The usual way of harnesses without shell marks: a marker command is typed after the command. */
	const run = async (command: string) => {
		await type("-l", `${command}; tmux -L bench wait-for -S over`);
		await type("Enter");
		await tmux("wait-for", "over");
	};
	await tmux("new-session", "-d", "-s", "agent", "-x", String(SIZE.cols), "-y", String(SIZE.rows), "bash --norc");
	try {
		await run(PREPARE);
		const answers = new Map<string, string>();
		for (const { name, command, text, facts } of TASKS) {
			await tmux("send-keys", "-t", "agent", "-R", ";", "clear-history", "-t", "agent");
			const capture = () => tmux("capture-pane", "-p", "-t", "agent", ...range);
			if (text === undefined) await run(command);
			else {
				await type("-l", command);
				await type("Enter");
				await type("-l", text);
				await type("Escape");
				const end = performance.now() + TIMEOUT_MS;
				while (performance.now() < end && missingIn(await capture(), facts).length > 0) await sleep(LOOK_MS);
			}
			answers.set(name, await capture());
		}
		return judge(answers);
	} finally {
		await tmux("kill-server");
	}
}

function missingIn(text: string, facts: readonly RegExp[]): readonly RegExp[] {
	return facts.filter((fact) => !fact.test(text));
}
