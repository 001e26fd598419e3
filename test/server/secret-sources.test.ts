/** Secrets that the server gives by itself, where its operator has named sources: one server, real programs and files. */

import { chmod, copyFile, mkdir, mkdtemp, readFile, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Client, connect, type Session } from "../../src/client/index.ts";
import { loadConfig } from "../../src/server/config.ts";
import { readSecretSources } from "../../src/server/secret-sources.ts";
import { type Server, startServer } from "../../src/server/server.ts";
import { connectOverHttp, placeOf, told } from "../fronts/mcp/mcp-client.ts";
import { isAlive } from "../helpers/alive.ts";
import { eventually } from "../helpers/reading.ts";
import { heardOf, type SecretNews } from "./heard-secrets.ts";

/** What the sources have; not a word of it is in any other file that is looked through. */
const VALUE = `horse-${process.pid}-battery`;
const VARIABLE = "TEST_OF_SOURCES";

let directory: string;
let stateDir: string;
let bash: string;
let server: Server;
let operator: Client;
let agent: Client;
const over = new AbortController();
let heard: readonly SecretNews[] = [];
const reports: string[] = [];
const inDirectory = (name: string) => join(directory, name);

beforeAll(async () => {
	directory = await mkdtemp(join(tmpdir(), "hawser-sources-"));
	stateDir = inDirectory("state");
	bash = await realpath("/bin/bash");
	process.env[VARIABLE] = VALUE;
	await writeFile(inDirectory("value"), `${VALUE}\n`, { mode: 0o600 });
	await writeFile(inDirectory("open"), VALUE, { mode: 0o644 });
	await writeFile(inDirectory("long"), VALUE.repeat(400), { mode: 0o600 });
	const value = inDirectory("value");
	const from = {
		file: `file:${value}`,
		variable: `env:${VARIABLE}`,
		line: `cmd:echo noise >&2; cat ${value}`,
		arguments: ["/bin/cat", value],
		admin: `file:${value}`,
		missing: `file:${inDirectory("missing")}`,
		open: `file:${inDirectory("open")}`,
		failing: `cmd:cat ${value}; exit 3`,
		endless: `cmd:while :; do cat ${value}; done`,
		absent: [inDirectory("absent")],
		"(a+)+": "cmd:true",
		empty: "cmd:true",
		keys: "cmd:printf 'a\\003b'",
		stuck: `cmd:sleep 1000 & echo $$ $! > ${inDirectory("stuck")}; wait`,
	};
	const sources = Object.entries(from).map(([name, source]) => ({
		name,
		source,
		program: bash,
		prompt: `${name} \\d\\?`,
		workspaces: ["default"],
		...(name === "admin" ? { tokens: ["admin"] } : {}),
	}));
	await writeFile(inDirectory("sources.json"), JSON.stringify({ sources }), { mode: 0o600 });
	const config = loadConfig({ port: "0", spares: "0", stateDir, secretSources: inDirectory("sources.json") }, {});
	server = await startServer(config, { report: (problem, where) => void reports.push(`${where}: ${problem}`) });
	operator = connect({ url: server.url, token: server.adminToken });
	const scopes = ["workspace:default:manage", "workspace:other:manage"];
	agent = connect({
		url: server.url,
		token: (await operator.tokens.create({ scopes, secrets: "request" })).token,
	});
	heard = await heardOf(operator, over.signal);
});
afterAll(async () => {
	over.abort();
	await server.close();
	delete process.env[VARIABLE];
	await rm(directory, { recursive: true });
});

type How = { readonly program?: string; readonly workspace?: string };

/** A program that asks twice, and tells what it was given. */
async function asking(name: string, { program = bash, workspace = "default" }: How = {}) {
	const line = `for n in 1 2; do read -r -s -p "${name} $n? " it; echo "got $it"; done; cat`;
	return started([program, "-c", line], `${name} 1?`, { workspace });
}

async function started(argv: string[], question: string, more: object = {}): Promise<Session> {
	const { id } = await operator.sessions.create({ argv, durable: false, ...more });
	await asks(operator.sessions.at(id), question);
	return agent.sessions.at(id);
}

async function asks(session: Session, question: string): Promise<void> {
	await eventually(`${question} is asked`, async () => {
		const { state, kind, lastLine } = await session.inspect();
		return state === "waiting" && kind === "secret" && lastLine === question;
	});
}

const stars = "*".repeat(VALUE.length);

describe("a request that a source is for", () => {
	it.each(["file", "variable", "line", "arguments"])("is answered at once: %s", async (name) => {
		const session = await asking(name);
		const { source } = await session.requestSecret();
		expect(source).toEqual({ name, fault: null });
		await asks(session, `${name} 2?`);
		expect((await session.text()).text).toBe(`${name} 1? got ${stars}\n${name} 2?\n`);
	});

	it("says in the audit and to all who listen which source gave it, and not what", async () => {
		const session = await asking("file");
		const { id } = await session.requestSecret();
		await asks(session, "file 2?");
		await eventually("the feed", () => heard.filter((news) => news.id === id).length === 2);
		expect(heard.filter((news) => news.id === id)).toMatchObject([
			{ status: "asked" },
			{ status: "given", by: "source:file" },
		]);
		const { entries } = await operator.audit({ session: session.id });
		const by = { id: "source:file", name: "source:file", from: "server", front: "secret-sources" };
		expect(entries.filter(({ action }) => action.startsWith("secret"))).toMatchObject([
			{ action: "secret-request", request: id, status: "asked" },
			{ action: "secret", by },
			{ action: "secret-request", request: id, status: "given", by },
		]);
		expect(JSON.stringify([entries, heard, reports])).not.toContain(VALUE);
	});

	it("is answered once: who asks the same again within a minute did not like the answer, and a person is asked", async () => {
		const session = await asking("line");
		expect((await session.requestSecret()).source).toEqual({ name: "line", fault: null });
		await asks(session, "line 2?");
		const again = await session.requestSecret();
		const fault = "a source was asked here less than a minute ago, and may be wrong";
		expect(again.source).toEqual({ name: "line", fault });
		expect(await operator.secretRequests.list()).toContainEqual(again);
		await operator.secretRequests.give(again.id, "of a person");
		await eventually("it goes on", async () => (await session.text()).text.endsWith("got ***********\n"));
	});

	it("is answered in a sandbox, in which the file of the source can't be read", async () => {
		const line = `cat ${inDirectory("value")} ${inDirectory("sources.json")}; read -r -s -p "file 1? " it; echo "got $it"; cat`;
		const session = await started([bash, "-c", line], "file 1?", { sandbox: { type: "readOnly" } });
		expect((await session.requestSecret()).source).toEqual({ name: "file", fault: null });
		await eventually("it goes on", async () => (await session.text()).text.includes(`got ${stars}`));
		// Nothing was to be masked before it was typed.
		const denied = ["value", "sources.json"].map((name) => `cat: ${inDirectory(name)}: Permission denied\n`);
		expect((await session.text()).text.split("file 1?")[0]).toBe(denied.join(""));
	});

	it("is no matter for the person of an agent, which is told to read on", async () => {
		const mcp = await connectOverHttp(await placeOf(stateDir), "2026-07-28");
		try {
			const session = await asking("arguments");
			const asked = await told(mcp, "read", { session: session.id, until: { input: true } });
			expect(asked).toMatch(
				/^\[waiting for a secret · \w+ · "arguments 1\?" · the server has entered it, from arguments/,
			);
		} finally {
			await mcp.close();
		}
	});
});

describe("a person is asked as ever", () => {
	/** With what the request says of sources, if anything. */
	async function expectPerson(session: Session, source?: { name: string; fault: unknown }): Promise<void> {
		const request = await session.requestSecret();
		expect(request.source).toEqual(source);
		expect(await operator.secretRequests.list()).toContainEqual(request);
		await operator.secretRequests.give(request.id, "of a person");
		await eventually("it goes on", async () => (await session.text()).text.includes("got ***********"));
	}

	it("if the workspace, the prompt or the token is another", async () => {
		await expectPerson(await asking("file", { workspace: "other" }));
		await expectPerson(await asking("a file"));
		await expectPerson(await asking("admin"));
		const own = operator.sessions.at((await asking("admin")).id);
		expect((await own.requestSecret()).source).toEqual({ name: "admin", fault: null });
	});

	it("if the program is another, whatever it calls itself", async () => {
		await mkdir(inDirectory("bin"));
		const copy = inDirectory("bin/bash");
		await copyFile(bash, copy);
		const source = { name: "file", fault: `another program than ${bash} asks` };
		await expectPerson(await asking("file", { program: copy }), source);
		expect(reports.at(-1)).toMatch(
			/^secret sources: "file" does not answer request \w+ of session \w+: another program/,
		);
	});

	it("if an expression takes too long for a prompt that was made for that", async () => {
		const source = { name: "(a+)+", fault: "its expression takes too long for this prompt" };
		await expectPerson(await asking(`${"a".repeat(50)}!`), source);
	});

	it("if another program of the session has made the terminal that the right one asks at", async () => {
		const line = `read -r -s -p "file 1? " it; echo "got $it"; cat`;
		const session = await started(["script", "-qc", `exec ${bash} -c '${line}'`, "/dev/null"], "file 1?");
		const { source } = await session.requestSecret();
		expect(source).toMatchObject({ name: "file", fault: expect.stringContaining("a terminal within the session's") });
	});

	it.each([
		["missing", /can't be read \(ENOENT\)$/],
		["open", /is open to others: chmod 600 closes it$/],
		["failing", /^its command ended with 3$/],
		["endless", /^its command printed more than 4096 bytes$/],
		["absent", /^its command can't be started \(ENOENT\)$/],
		["empty", /^a secret is one line/],
		["keys", /^a secret has no control characters/],
	])("if the source fails: %s", async (name, fault) => {
		await expectPerson(await asking(name), { name, fault: expect.stringMatching(fault) });
		expect(reports.at(-1)).toMatch(/^secret sources: /);
		expect(reports.join("\n")).not.toContain(VALUE);
	});

	it("and a command that still runs when nobody asks any more is ended with all that it started", async () => {
		const session = await asking("stuck");
		const requested = session.requestSecret();
		const pids = await eventually("the command", async () => {
			const text = await readFile(inDirectory("stuck"), "utf8").catch(() => "");
			return text.endsWith("\n") && text.trim().split(" ").map(Number);
		});
		await operator.sessions.at(session.id).kill();
		expect((await requested).source?.fault).toBe("its command was stopped, because nobody asks any more");
		await eventually("all of them to be gone", () => !pids.some(isAlive));
	});
});

describe("a file of sources", () => {
	const good = () => ({ name: "n", source: "cmd:true", program: bash, prompt: "Password:", workspaces: ["ci"] });

	async function refusal(text: string, mode = 0o600): Promise<string> {
		const path = inDirectory("refused.json");
		await writeFile(path, text);
		await chmod(path, mode);
		const refused = await readSecretSources(path).then(String, (error: Error) => error.message);
		expect(refused).toMatch(`--secret-sources: ${path}: `);
		return refused.slice(`--secret-sources: ${path}: `.length);
	}

	it("is refused if others may read it, or put another in its place", async () => {
		const text = JSON.stringify({ sources: [good()] });
		for (const mode of [0o640, 0o604, 0o620]) expect(await refusal(text, mode)).toMatch(/is open to others: chmod 600/);
		await mkdir(inDirectory("anybody's"));
		await chmod(inDirectory("anybody's"), 0o777);
		const path = inDirectory("anybody's/sources.json");
		await writeFile(path, text, { mode: 0o600 });
		await expect(readSecretSources(path)).rejects.toThrow("others may write in");
		await expect(readSecretSources(inDirectory("nowhere"))).rejects.toThrow("can't be read (ENOENT)");
		await expect(readSecretSources(directory)).rejects.toThrow("is not a regular file");
	});

	it("is refused as a whole, with what is wrong and where", async () => {
		const first = (more: object) => JSON.stringify({ sources: [{ ...good(), ...more }] });
		const wrong: [string, string][] = [
			["{sources", "the file: is not JSON"],
			["[]", "the file: expected an object"],
			["{}", "sources: expected a list of up to 32 sources"],
			[JSON.stringify({ sources: [good(), good()] }), 'sources[1].name: "n" is the name of another, too'],
			[
				first({ promt: "x" }),
				'sources[0]: has no field "promt", only name, source, program, prompt, workspaces, tokens',
			],
			[first({ prompt: undefined }), "sources[0].prompt: is missing"],
			[first({ prompt: "(" }), "sources[0].prompt: Invalid regular expression: /^(?:()$/: Unterminated group"],
			[first({ prompt: "Password: $" }), "sources[0].prompt: prompts are compared without the blanks at their ends"],
			[first({ name: "a\nb" }), "sources[0].name: expected up to 64 characters, none of which controls a terminal"],
			[first({ workspaces: [] }), "sources[0].workspaces: expected a list of one text or more"],
			[first({ tokens: [1] }), "sources[0].tokens: expected a text"],
			[first({ source: "op://x" }), "sources[0].source: expected "],
			[first({ source: "file:x" }), 'sources[0].source: expected a path from / on, not "x"'],
			[first({ source: ["cat"] }), 'sources[0].source: expected a path from / on, not "cat"'],
			[first({ source: "env:NOT_THERE" }), 'sources[0].source: the server has no variable "NOT_THERE"'],
			[first({ program: "bash" }), 'sources[0].program: expected a path from / on, not "bash"'],
			[first({ program: "/usr/bin" }), "sources[0].program: /usr/bin is not a program"],
			[first({ program: "/proc/self/exe" }), "sources[0].program: /proc/self/exe is another path of /"],
			[first({ program: inDirectory("value") }), `sources[0].program: ${inDirectory("value")} can't be used (EACCES)`],
		];
		for (const [text, sentence] of wrong) expect(await refusal(text)).toContain(sentence);
		await copyFile(bash, inDirectory("own"));
		expect(await refusal(first({ program: inDirectory("own") }))).toMatch(/can be changed by others than root$/);
	});
});
