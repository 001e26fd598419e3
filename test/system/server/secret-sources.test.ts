/** Secret sources: secrets that the server supplies itself, with one server, real programs and files. */

import { chmod, copyFile, mkdir, mkdtemp, readFile, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Client, connect, type Session } from "../../../src/client/index.ts";
import { loadConfig } from "../../../src/server/config.ts";
import { type Server, startServer } from "../../../src/server/server.ts";
import { readSecretSources } from "../../../src/services/secrets/source-file.ts";
import { isAlive } from "../../support/alive.ts";
import { callToolText, connectOverHttp, placeOf } from "../../support/mcp-client.ts";
import { eventually } from "../../support/reading.ts";
import { collectSecretEvents, type SecretNews } from "../support/heard-secrets.ts";

/** The values of the sources. None of the searched files contains a word of them. */
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
	heard = await collectSecretEvents(operator, over.signal);
});
afterAll(async () => {
	over.abort();
	await server.close();
	delete process.env[VARIABLE];
	await rm(directory, { recursive: true });
});

type How = { readonly program?: string; readonly workspace?: string };

/** A program that asks twice and prints what it got. */
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

describe("a request with a matching source", () => {
	it.each(["file", "variable", "line", "arguments"])("a source answers a request at once: %s", async (name) => {
		const session = await asking(name);
		const { source } = await session.requestSecret();
		expect(source).toEqual({ name, fault: null });
		await asks(session, `${name} 2?`);
		expect((await session.text()).text).toBe(`${name} 1? got ${stars}\n${name} 2?\n`);
	});

	it("the audit and all readers learn which source was used, and not its value", async () => {
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

	it("a source answers once: when the same question is repeated within a minute, a person is asked", async () => {
		const session = await asking("line");
		expect((await session.requestSecret()).source).toEqual({ name: "line", fault: null });
		await asks(session, "line 2?");
		const again = await session.requestSecret();
		const fault = "a source answered here less than a minute ago, and may be wrong";
		expect(again.source).toEqual({ name: "line", fault });
		expect(await operator.secretRequests.list()).toContainEqual(again);
		await operator.secretRequests.give(again.id, "of a person");
		await eventually("it goes on", async () => (await session.text()).text.endsWith("got ***********\n"));
	});

	it("a source answers in a sandbox that can't read the source's file", async () => {
		const line = `cat ${inDirectory("value")} ${inDirectory("sources.json")}; read -r -s -p "file 1? " it; echo "got $it"; cat`;
		const session = await started([bash, "-c", line], "file 1?", { sandbox: { type: "readOnly" } });
		expect((await session.requestSecret()).source).toEqual({ name: "file", fault: null });
		await eventually("it goes on", async () => (await session.text()).text.includes(`got ${stars}`));
		// No mask existed before it was typed.
		const denied = ["value", "sources.json"].map((name) => `cat: ${inDirectory(name)}: Permission denied\n`);
		expect((await session.text()).text.split("file 1?")[0]).toBe(denied.join(""));
	});

	it("an agent gets advice to read on instead of asking a person", async () => {
		const mcp = await connectOverHttp(await placeOf(stateDir), "2026-07-28");
		try {
			const session = await asking("arguments");
			const asked = await callToolText(mcp, "read", { session: session.id, until: { input: true } });
			expect(asked).toMatch(
				/^\[waiting for a secret · \w+ · "arguments 1\?" · the server has entered it, from arguments/,
			);
		} finally {
			await mcp.close();
		}
	});
});

describe("a request that falls back to a person", () => {
	/** With the request's note on sources, if any. */
	async function expectPerson(session: Session, source?: { name: string; fault: unknown }): Promise<void> {
		const request = await session.requestSecret();
		expect(request.source).toEqual(source);
		expect(await operator.secretRequests.list()).toContainEqual(request);
		await operator.secretRequests.give(request.id, "of a person");
		await eventually("it goes on", async () => (await session.text()).text.includes("got ***********"));
	}

	it("a source does not answer for another workspace, prompt or token", async () => {
		await expectPerson(await asking("file", { workspace: "other" }));
		await expectPerson(await asking("a file"));
		await expectPerson(await asking("admin"));
		const own = operator.sessions.at((await asking("admin")).id);
		expect((await own.requestSecret()).source).toEqual({ name: "admin", fault: null });
	});

	it("a source does not answer another program, whatever its name", async () => {
		await mkdir(inDirectory("bin"));
		const copy = inDirectory("bin/bash");
		await copyFile(bash, copy);
		const source = { name: "file", fault: `a program other than ${bash} asks` };
		await expectPerson(await asking("file", { program: copy }), source);
		expect(reports.at(-1)).toMatch(
			/^secret sources: "file" did not answer request \w+ of session \w+: a program other than/,
		);
	});

	it("a source does not answer a prompt built to make its expression slow", async () => {
		const source = { name: "(a+)+", fault: "the source's expression takes too long for this prompt" };
		await expectPerson(await asking(`${"a".repeat(50)}!`), source);
	});

	it("a source does not answer if another program of the session created the terminal", async () => {
		const line = `read -r -s -p "file 1? " it; echo "got $it"; cat`;
		const session = await started(["script", "-qc", `exec ${bash} -c '${line}'`, "/dev/null"], "file 1?");
		const { source } = await session.requestSecret();
		expect(source).toMatchObject({ name: "file", fault: expect.stringContaining("a nested terminal") });
	});

	it.each([
		["missing", /can't be read \(ENOENT\)$/],
		["open", /is accessible to other users; chmod 600 fixes that$/],
		["failing", /^the source's command ended with 3$/],
		["endless", /^the source's command printed more than 4096 bytes$/],
		["absent", /^the source's command can't be started \(ENOENT\)$/],
		["empty", /^a secret must be one line/],
		["keys", /^a secret can't contain control characters/],
	])("a source that fails leaves the request to a person: %s", async (name, fault) => {
		await expectPerson(await asking(name), { name, fault: expect.stringMatching(fault) });
		expect(reports.at(-1)).toMatch(/^secret sources: /);
		expect(reports.join("\n")).not.toContain(VALUE);
	});

	it("a source command is ended with its children when the request is gone", async () => {
		const session = await asking("stuck");
		const requested = session.requestSecret();
		const pids = await eventually("the command", async () => {
			const text = await readFile(inDirectory("stuck"), "utf8").catch(() => "");
			return text.endsWith("\n") && text.trim().split(" ").map(Number);
		});
		await operator.sessions.at(session.id).kill();
		expect((await requested).source?.fault).toBe("the source's command was stopped because the request was closed");
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
		expect(refused).toMatch(`${path}: `);
		return refused.slice(`${path}: `.length);
	}

	it("a sources file is refused if others may read or replace it", async () => {
		const text = JSON.stringify({ sources: [good()] });
		for (const mode of [0o640, 0o604, 0o620])
			expect(await refusal(text, mode)).toMatch(/is accessible to other users; chmod 600/);
		await mkdir(inDirectory("anybody's"));
		await chmod(inDirectory("anybody's"), 0o777);
		const path = inDirectory("anybody's/sources.json");
		await writeFile(path, text, { mode: 0o600 });
		await expect(readSecretSources(path)).rejects.toThrow("other users may write in");
		await expect(readSecretSources(inDirectory("nowhere"))).rejects.toThrow("can't be read (ENOENT)");
		await expect(readSecretSources(directory)).rejects.toThrow("is not a regular file");
	});

	it("an invalid sources file is refused as a whole with the problem and its location", async () => {
		const first = (more: object) => JSON.stringify({ sources: [{ ...good(), ...more }] });
		const wrong: [string, string][] = [
			["{sources", "the file: is not JSON"],
			["[]", "the file: expected an object"],
			["{}", "sources: expected a list of up to 32 sources"],
			[JSON.stringify({ sources: [good(), good()] }), 'sources[1].name: "n" is already the name of another source'],
			[
				first({ promt: "x" }),
				'sources[0]: unknown field "promt"; known are name, source, program, prompt, workspaces, tokens',
			],
			[first({ prompt: undefined }), "sources[0].prompt: is missing"],
			[first({ prompt: "(" }), "sources[0].prompt: Invalid regular expression: /^(?:()$/: Unterminated group"],
			[
				first({ prompt: "Password: $" }),
				"sources[0].prompt: remove blanks at the ends; prompts are compared without them",
			],
			[first({ name: "a\nb" }), "sources[0].name: expected up to 64 printable characters"],
			[first({ workspaces: [] }), "sources[0].workspaces: expected a list of one or more strings"],
			[first({ tokens: [1] }), "sources[0].tokens: expected a string"],
			[first({ source: "op://x" }), "sources[0].source: expected "],
			[first({ source: "file:x" }), 'sources[0].source: expected an absolute path, not "x"'],
			[first({ source: ["cat"] }), 'sources[0].source: expected an absolute path, not "cat"'],
			[first({ source: "env:NOT_THERE" }), 'sources[0].source: the server has no variable "NOT_THERE"'],
			[first({ program: "bash" }), 'sources[0].program: expected an absolute path, not "bash"'],
			[first({ program: "/usr/bin" }), "sources[0].program: /usr/bin is not a program"],
			[first({ program: "/proc/self/exe" }), "sources[0].program: /proc/self/exe is a link to /"],
			[first({ program: inDirectory("value") }), `sources[0].program: ${inDirectory("value")} can't be used (EACCES)`],
		];
		for (const [text, sentence] of wrong) expect(await refusal(text)).toContain(sentence);
		await copyFile(bash, inDirectory("own"));
		expect(await refusal(first({ program: inDirectory("own") }))).toMatch(/can be changed by users other than root$/);
	});
});
