import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it, onTestFinished } from "vitest";
import { spawn } from "../../../src/backends/spawn.ts";
import { findSession } from "../../../src/cli/connect/find-session.ts";
import { type Client, connect } from "../../../src/client/index.ts";
import { startTestServer, type TestServer, TOKEN } from "../../support/native-server.ts";
import { eventually } from "../../support/reading.ts";
import { temporaryDirectory } from "../../support/temporary.ts";

let server: TestServer;
let client: Client;
beforeAll(async () => {
	server = await startTestServer();
	client = connect({ url: server.url, token: TOKEN });
});
afterAll(() => server.close());

const found = async (wanted?: string) => (await findSession(client, wanted)).id;

it("a session is found by ID, prefix or name; the default is the most recent", async () => {
	await expect(found()).rejects.toMatchObject({ code: "session_not_found" });
	const { id: first } = await server.create({ argv: ["cat"], name: "one" });
	const { id: second } = await server.create({ argv: ["cat"] });
	expect(await found(first)).toBe(first);
	expect(await found("one")).toBe(first);
	expect(await found(second.slice(0, 8))).toBe(second);
	expect(await found()).toBe(second);
	await expect(found("")).rejects.toMatchObject({ code: "session_not_found" });
	await expect(found("zzzz-none")).rejects.toMatchObject({ code: "session_not_found" });
});

it("a reused name means the running session, else the newest", async () => {
	const ids: string[] = [];
	for (let round = 0; round < 3; round++) {
		const { id } = await server.create({ argv: ["cat"], name: "again" });
		ids.push(id);
		expect(await found("again")).toBe(id);
		await client.sessions.at(id).kill();
		expect(await found("again")).toBe(id);
	}
	expect(await found("agai")).toBe(ids.at(-1));
});

it("a prefix of a name works if it is unique", async () => {
	const { id: first } = await server.create({ argv: ["cat"], name: "frontend-build" });
	expect(await found("front")).toBe(first);
	await server.create({ argv: ["cat"], name: "frontend-tests" });
	await expect(found("front")).rejects.toThrow(`prefix "front" is ambiguous; it matches 2 sessions: ${first}`);
	expect(await found("frontend-b")).toBe(first);
});

it.each([
	["frontned-build", 'did you mean "frontend-build"?'],
	["fontend-tets", 'did you mean "frontend-tests"?'],
	["unlike anything", "hawser ls --all"],
])("an unknown session %s gets a hint", async (wanted, hint) => {
	await expect(found(wanted)).rejects.toMatchObject({ hint: expect.stringContaining(hint) });
});

it("the default is the most recent running session where an ended one is useless", async () => {
	const { id: running } = await server.create({ argv: ["cat"], workspace: "green" });
	const { id: ended } = await server.create({ argv: ["true"], workspace: "green" });
	await client.sessions.at(ended).wait({ exit: true });
	const inGreen = (running: boolean) => findSession(client, undefined, { workspace: "green", running });
	expect((await inGreen(true)).id).toBe(running);
	expect((await inGreen(false)).id).toBe(ended);
	await client.sessions.at(running).kill();
	await expect(inGreen(true)).rejects.toThrow("no running session");
});

it("with a workspace, only its sessions are found", async () => {
	const { id: red } = await server.create({ argv: ["cat"], name: "shell", workspace: "red" });
	const { id: blue } = await server.create({ argv: ["cat"], name: "shell", workspace: "blue" });
	await expect(found("shell")).rejects.toThrow("matches 2 sessions");
	expect((await findSession(client, "shell", { workspace: "red" })).id).toBe(red);
	expect((await findSession(client, undefined, { workspace: "red" })).id).toBe(red);
	await expect(findSession(client, blue, { workspace: "red" })).rejects.toMatchObject({ code: "session_not_found" });
});

it("a program finds its own session before the server lists it", async () => {
	let hear = () => {};
	const heard = new Promise<void>((resolve) => {
		hear = resolve;
	});
	const slow = await startTestServer({
		async spawn(command, report) {
			const program = await spawn(command, report);
			await heard;
			return program;
		},
	});
	onTestFinished(() => slow.close());
	const cwd = await temporaryDirectory();
	const starting = slow.create({
		argv: ["sh", "-c", 'printf %s "$HAWSER_SESSION." >own; read x'],
		mode: "pty",
		cwd,
		name: "own",
	});
	const own = await eventually("the program", async () => {
		const text = await readFile(join(cwd, "own"), "utf8").catch(() => "");
		return text.endsWith(".") && text.slice(0, -1);
	});
	const before = process.env.HAWSER_SESSION;
	onTestFinished(() => {
		if (before === undefined) delete process.env.HAWSER_SESSION;
		else process.env.HAWSER_SESSION = before;
	});
	process.env.HAWSER_SESSION = own;
	const statuses: number[] = [];
	const asking = connect({
		url: slow.url,
		token: TOKEN,
		async fetch(input, init) {
			const answer = fetch(input, init);
			if (!String(input).endsWith(`/v1/sessions/${own}`)) return answer;
			// The responses arrive in order, so this request has reached the server.
			await slow.request("/v1/me");
			hear();
			statuses.push((await answer).status);
			return answer;
		},
	});
	// It lists sessions first, and then waits for its own session.
	expect((await findSession(asking, "own")).id).toBe(own);
	expect((await starting).id).toBe(own);
	expect(statuses).toEqual([200, 200]);
});
