import { open, readdir, readFile, realpath, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { connect as connectTo } from "../../../src/client/index.ts";
import { connect } from "../../../src/client/node/index.ts";
import { TestHawser } from "../../support/hawser-command.ts";
import { callToolText, connectOverHttp, placeOf } from "../../support/mcp-client.ts";
import { temporaryDirectory } from "../../support/temporary.ts";

const SOON = { timeout: 10_000 };

let hawser: TestHawser;
beforeAll(async () => {
	hawser = await TestHawser.create();
});
afterAll(() => hawser.remove());

/** Prompts for a secret without echo, and prints it in several encodings. */
const CARELESS = `read -r -s -p 'Password: ' it; echo
	echo "it is $it"; printf %s "$it" | base64 -w0; echo; printf %s "x$it" | base64 -w0; echo; printf %s "$it" | od -An -tx1 | tr -d ' \\n'; echo; echo done; cat`;

const SECRET = "waits for a secret";

/** Waits for the prompt, and for the answer to it. Only this prompt was shown just before. */
async function asks(session: string, what = SECRET, question = ""): Promise<void> {
	const said = async () => (await hawser.run(["why", session])).stdout;
	await expect.poll(said, SOON).toSatisfy((text: string) => text.includes(what) && text.includes(question));
}

const wrote = (session: string) => hawser.run(["logs", session]);

/** All files below a directory. Listed again when one disappeared, since it may have been renamed. */
async function filesOf(directory: string): Promise<Buffer> {
	const entries = await readdir(directory, { recursive: true, withFileTypes: true });
	const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
	try {
		return Buffer.concat(await Promise.all(files.map((file) => readFile(file))));
	} catch (error) {
		if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
		return filesOf(directory);
	}
}

/** Counts how often each needle occurs in the readable memory of a process. */
async function inMemory(pid: number, wanted: readonly Buffer[]): Promise<number[]> {
	const maps = await readFile(`/proc/${pid}/maps`, "utf8");
	const memory = await open(`/proc/${pid}/mem`);
	const counts = wanted.map(() => 0);
	try {
		for (const line of maps.split("\n")) {
			const [, from = "0", to = "0"] = /^([0-9a-f]+)-([0-9a-f]+) r/.exec(line) ?? [];
			const length = Number.parseInt(to, 16) - Number.parseInt(from, 16);
			if (length === 0) continue;
			const bytes = Buffer.alloc(length);
			const { bytesRead } = await memory
				.read(bytes, 0, length, Number.parseInt(from, 16))
				.catch(() => ({ bytesRead: 0 }));
			const seen = bytes.subarray(0, bytesRead);
			for (const [index, form] of wanted.entries()) {
				for (let at = seen.indexOf(form); at >= 0; at = seen.indexOf(form, at + 1))
					counts[index] = (counts[index] ?? 0) + 1;
			}
		}
	} finally {
		await memory.close();
	}
	return counts;
}

/** The process id of a session's keeper. */
async function keeperOf(id: string): Promise<number> {
	const record = await readFile(join(hawser.stateDir, "sessions", id, "session.json"), "utf8");
	return (JSON.parse(record) as { keeper: { pid: number } }).keeper.pid;
}

/** The forms an attacker might search for: plain, base64 at each alignment, URL-encoded, hexadecimal. */
function formsOf(password: Buffer): Buffer[] {
	const base64 = ["", "x", "xx"].map((before) => Buffer.from(`${before}${password}`).toString("base64").slice(4, -4));
	const texts = [...base64, encodeURIComponent(password.toString()), password.toString("hex")];
	return [password, ...texts.map((form) => Buffer.from(form))];
}

/** More than Node.js reads at once: its buffer keeps earlier messages to a keeper until longer ones overwrite them. */
const MUCH = "x".repeat(100_000);

/** Asserts that no needle occurs in the records, nor in the memory of the server and the keeper. */
async function expectNowhere(password: Buffer, said: Buffer, session: string): Promise<void> {
	// Answers no question that was asked, so none of it is typed.
	const answered = (await hawser.client()).sessions.at(session).write(MUCH, { ifWaiting: 0 });
	await expect(answered).rejects.toMatchObject({ code: "not_waiting" });
	const { pid } = JSON.parse(await readFile(join(hawser.stateDir, "server.json"), "utf8")) as { pid: number };
	const forms = formsOf(password);
	const nowhere = forms.map(() => 0);
	expect({
		said: forms.filter((form) => said.includes(form)).map(String),
		server: await inMemory(pid, forms),
		keeper: await inMemory(await keeperOf(session), forms),
	}).toEqual({ said: [], server: nowhere, keeper: nowhere });
}

describe("a password entered by a person", () => {
	it("an entered password is stored nowhere: not in output, screen, search, recording, files, audit, answers to agents and viewers, or memory", async () => {
		// The needles occur neither in this file nor in anything made from it.
		const password = Buffer.from(`${[..."hunter-two/"].reverse().join("")}${process.pid}?&`);
		const session = "careless";
		const id = await hawser.detached(CARELESS, { name: session });
		await asks(session);
		const agent = await connectOverHttp(await placeOf(hawser.stateDir), "2026-07-28");
		const over = new AbortController();
		const client = connect({ stateDir: hawser.stateDir });
		const viewer = client.sessions.at(id).attach({ role: "viewer", signal: over.signal });
		const watched: Buffer[] = [];
		const watching = (async () => {
			for await (const event of viewer) if (event.kind === "output") watched.push(Buffer.from(event.bytes));
		})();
		try {
			const asked = await callToolText(agent, "read", { session, until: { input: true } });
			expect(asked).toMatch(
				/^\[waiting for a secret · \w+ · "Password:" .* a person can enter it: hawser secret careless, or at http:\S+\/secret\/[0-9a-f]{12} · /,
			);
			const goesOn = callToolText(agent, "read", { session, until: { input: true } });
			const typed = await hawser.run(["secret", session], { input: `${password}\n` });
			expect(typed).toEqual({ code: 0, stdout: "", stderr: "hawser: careless: bash asks for a secret: Password:\n" });
			expect(await goesOn).toMatch(/^\[waiting for a line · /);
			await expect.poll(() => Buffer.concat(watched).toString(), SOON).toContain("done");
			const stars = "*".repeat(password.byteLength);
			const logs = (await wrote(session)).stdout;
			expect(logs).toContain(`it is ${stars}\r\n`);
			const all = Buffer.concat([
				Buffer.from(
					[
						logs,
						await goesOn,
						await callToolText(agent, "read", { session, what: "output" }),
						await callToolText(agent, "read", { session, what: "screen" }),
						(await hawser.run(["screen", session])).stdout,
						(await hawser.run(["grep", ".", session])).stdout,
						(await hawser.run(["export", session])).stdout,
						(await hawser.run(["audit"])).stdout,
						hawser.serverRemarks,
					].join("\n"),
				),
				...watched,
				await filesOf(hawser.stateDir),
			]);
			await expectNowhere(password, all, id);
			expect((await hawser.run(["audit", "--json"])).stdout).toContain('"secret"');
		} finally {
			over.abort();
			await watching;
			await agent.close();
		}
	});

	it("a secret is refused while the terminal would echo it, and nothing is typed", async () => {
		const session = await hawser.detached("read -p 'Name: ' it; echo got-$it; cat");
		await asks(session, "waits for a line");
		const refused = await hawser.run(["secret", session], { input: "hunter2\n" });
		expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining("is not asking for a secret") });
		expect((await wrote(session)).stdout).toBe("Name: ");
	});

	it("the session refuses a secret at a prompt with echo, at a shell prompt, and for a question that has changed", async () => {
		const client = connect({ stateDir: hawser.stateDir });
		const refused = { code: "not_waiting" };
		const line = client.sessions.at(await hawser.detached("read -p 'Name: ' it; echo got-$it; cat"));
		await asks(line.id, "waits for a line");
		await expect(line.secret("hunter-two")).rejects.toMatchObject(refused);
		await expect(line.secret("two\nlines")).rejects.toMatchObject({ code: "invalid_argument" });
		const shell = await client.sessions.create({ argv: ["bash", "--norc"], mode: "pty" });
		await asks(shell.id, "is at its prompt");
		await expect(shell.secret("hunter-two")).rejects.toMatchObject(refused);
		const asker = await hawser.detached("read -s -p 'one? ' a; read -s -p 'two? ' b; echo $a-$b; cat");
		const session = client.sessions.at(asker);
		await asks(asker, SECRET, "one?");
		const { offset } = await session.inspect();
		await session.secret("first", { ifWaiting: offset });
		await asks(asker, SECRET, "two?");
		await expect(session.secret("late", { ifWaiting: offset })).rejects.toMatchObject(refused);
		await session.secret("second", { ifWaiting: (await session.inspect()).offset });
		await expect.poll(async () => (await wrote(asker)).stdout, SOON).toBe("one? two? first-******\r\n");
		for (const { id } of [line, shell]) expect((await wrote(id)).stdout).not.toContain("hunter");
	});

	it("an agent's request for a secret is listed, and can be refused or answered by id", async () => {
		const client = connect({ stateDir: hawser.stateDir });
		const script = `read -r -s -p 'Password: ' it; echo got \${#it}; cat`;
		const ids = [await hawser.detached(script, { name: "first" }), await hawser.detached(script, { name: "second" })];
		for (const id of ids) await asks(id);
		const { token } = await client.tokens.create({
			name: "agent",
			scopes: ["workspace:default:operate"],
			secrets: "request",
		});
		const agent = connectTo({ url: (await placeOf(hawser.stateDir)).url, token });
		const [first, second] = await Promise.all(
			ids.map((id, index) => agent.sessions.at(id).requestSecret({ name: `key-${index}`, reason: "to deploy" })),
		);
		const listed = (await hawser.run(["secret", "--list"])).stdout;
		expect(listed).toMatch(
			new RegExp(`${first?.id} +first +key-0 +bash: Password: +token:\\w+:agent +\\S+ +to deploy`),
		);
		expect(listed).toContain(second?.id);
		expect(await hawser.run(["secret"], { input: "nobody's\n" })).toMatchObject({
			code: 1,
			stderr: expect.stringContaining("several sessions ask for a secret; choose one"),
		});
		expect(await hawser.run(["secret", "second", "--refuse"])).toMatchObject({ code: 0 });
		expect(await hawser.run(["secret", "key-0"], { input: "hunter-two\n" })).toMatchObject({
			code: 0,
			stderr: expect.stringMatching(
				/^hawser: first: bash asks for key-0: Password: \(requested by token:\w+:agent: to deploy\)\n$/,
			),
		});
		await expect.poll(async () => (await wrote("first")).stdout, SOON).toBe("Password: got 10\r\n");
		expect(await client.secretRequests.list()).toEqual([]);
		expect((await hawser.run(["secret", "key-0"])).code).not.toBe(0);
		await Promise.all(ids.map((id) => client.sessions.at(id).kill()));
	});

	it("a secret is read from --from, or entered for the only request", async () => {
		const directory = await temporaryDirectory();
		const script = `cd ${directory}; for n in 1 2 3; do read -r -s -p "secret $n? " it; echo; printf %s "$it" > got-$n; done; cat`;
		const session = await hawser.detached(script);
		const got = (number: number) => readFile(join(directory, `got-${number}`), "utf8").catch(() => "");
		await asks(session, SECRET, "secret 1?");
		expect(await hawser.run(["secret", "--from", "env:PASSWORD"], { env: { PASSWORD: "from env" } })).toMatchObject({
			code: 0,
		});
		await asks(session, SECRET, "secret 2?");
		expect(await hawser.run(["secret", session, "--from", `file:${join(directory, "got-1")}`])).toMatchObject({
			code: 0,
		});
		await asks(session, SECRET, "secret 3?");
		expect(await hawser.run(["secret", session, "--from", "cmd:echo from cmd"])).toMatchObject({ code: 0 });
		await expect.poll(() => got(3), SOON).toBe("from cmd");
		expect([await got(1), await got(2)]).toEqual(["from env", "from env"]);
		expect((await hawser.run(["secret"])).stderr).toContain("no session is asking for a secret");
	});
});

describe("a password from a secret source of the server", () => {
	it("a password from a source is stored nowhere: not in output, files, audit, logs, or the memory of server and keeper", async () => {
		const directory = await temporaryDirectory();
		const file = join(directory, "password");
		const program = await realpath("/bin/bash");
		const common = { program, workspaces: ["default"] };
		const sources = [
			{ ...common, name: "by file", prompt: "First:", source: `file:${file}` },
			{ ...common, name: "by command", prompt: "Second:", source: `cmd:cat ${file}` },
			{ ...common, name: "failing", prompt: "Third:", source: `cmd:cat ${file}; false` },
		];
		const password = Buffer.from(`${[..."staple?horse/"].reverse().join("")}${process.pid}?&`);
		await writeFile(file, `${password}\n`, { mode: 0o600 });
		await writeFile(join(directory, "sources.json"), JSON.stringify({ sources }), { mode: 0o600 });
		await hawser.stopServer("SIGTERM");
		await hawser.startServer(["--secret-sources", join(directory, "sources.json")]);
		const id = await hawser.detached(
			`for word in First Second Third; do read -r -s -p "$word: " it; echo "it is $it"; done; echo done; cat`,
			{ name: "by-itself" },
		);
		const { token } = await connect({ stateDir: hawser.stateDir }).tokens.create({
			scopes: ["workspace:default:operate"],
			secrets: "request",
		});
		const session = connectTo({ url: (await placeOf(hawser.stateDir)).url, token }).sessions.at(id);
		const given: unknown[] = [];
		for (const word of ["First", "Second", "Third"]) {
			await expect.poll(() => session.inspect(), SOON).toMatchObject({ kind: "secret", lastLine: `${word}:` });
			given.push((await session.requestSecret()).source);
		}
		const fault = "the source's command ended with 1";
		expect(given).toEqual([
			{ name: "by file", fault: null },
			{ name: "by command", fault: null },
			{ name: "failing", fault },
		]);
		const told = `by-itself: bash asks for a secret: Third: (source "failing" failed: ${fault})`;
		const typed = await hawser.run(["secret", "by-itself"], { input: "another\n" });
		expect(typed).toEqual({ code: 0, stdout: "", stderr: `hawser: ${told}\n` });
		await expect.poll(async () => (await wrote(id)).stdout, SOON).toContain("done");
		const stars = `it is ${"*".repeat(password.byteLength)}\r\n`;
		const logs = (await wrote(id)).stdout;
		expect(logs).toContain(`First: ${stars}Second: ${stars}Third: it is *******\r\n`);
		expect(hawser.serverRemarks).toContain(`of session ${id}: ${fault}`);
		const audit = (await hawser.run(["audit", "--json"])).stdout;
		expect(audit).toContain('"source:by file"');
		const all = Buffer.concat([Buffer.from(logs + audit + hawser.serverRemarks), await filesOf(hawser.stateDir)]);
		await expectNowhere(password, all, id);
	});
});
