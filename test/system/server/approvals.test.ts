// @module-tag apart

/** The approval gate: a gated action is held until another user has approved it. */

import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { type Client, connect, type GateMessage, offsetsOf, type Session } from "../../../src/client/index.ts";
import { loadConfig } from "../../../src/server/config.ts";
import { type Server, startServer } from "../../../src/server/server.ts";
import { AppClient } from "../../fronts/dropins/codex-app/support/app-client.ts";
import { ExecClient } from "../../fronts/dropins/codex-exec/support/exec-client.ts";
import { openLink } from "../../fronts/dropins/codex-exec/support/exec-link.ts";
import { MulticaClient } from "../../fronts/dropins/multica/support/multica-client.ts";
import { ISSUE, TASK, WORKSPACE } from "../../fronts/dropins/multica/support/multica-server.ts";
import { callTool, connectOverHttp } from "../../support/mcp-client.ts";
import { eventually } from "../../support/reading.ts";
import { temporaryDirectory } from "../../support/temporary.ts";
import { pendingApproval, refused } from "../support/held.ts";
import { inputPaths, linesInOneCall } from "../support/roads.ts";

let server: Server;
let person: Client;
/** Internal errors that were reported. */
const problems: unknown[] = [];

let stateDir = "";

beforeAll(async () => {
	stateDir = await mkdtemp(join(tmpdir(), "hawser-approvals-"));
	const config = loadConfig({ port: "0", spares: "0", stateDir, multicaGrace: "0" }, {});
	server = await startServer(config, { report: (problem) => problems.push(problem) });
	person = connect({ url: server.url, token: server.adminToken });
});

afterAll(async () => {
	await server.close();
	await rm(stateDir, { recursive: true, force: true });
	expect(problems).toEqual([]);
});

/** A client with manage rights in the default workspace and a gate. */
async function agent(gate: Partial<GateMessage> = { match: ["rm -rf"] }, by = person) {
	const made = await by.tokens.create({ scopes: ["workspace:default:manage"], name: "agent", gate });
	return { ...made, client: connect({ url: server.url, token: made.token }) };
}

/** Removes all requests of one test before the next. */
async function denyAll(): Promise<void> {
	for (const { id } of await person.approvals.list()) {
		// It may have ended by itself.
		await person.approvals.decide(id, { decision: "deny" }).catch(() => {});
	}
}

afterEach(denyAll);

async function shell(): Promise<{ session: Session; home: string }> {
	const home = await temporaryDirectory();
	const env = { HOME: home, PS1: "$ " };
	return { session: await person.sessions.create({ argv: ["bash"], cwd: home, env, durable: false }), home };
}

/** A terminal that prints each line a second time. Before a line it prints nothing. */
async function cat(): Promise<Session> {
	const session = await person.sessions.create({ argv: ["cat"], durable: false });
	await eventually("cat", async () => (await session.inspect()).state === "waiting");
	return session;
}

const textOf = async (session: Session) => new TextDecoder().decode((await session.output()).bytes);

/** Resolves once the line was printed the second time, after which it causes no further output. */
async function writeShown(session: Session, line: string): Promise<void> {
	await session.write(`${line}\r`);
	await eventually("both lines", async () => (await textOf(session)).endsWith(`${line}\r\n${line}\r\n`));
}

describe("a command that matches the gate", () => {
	it("a matching command is held, approved from another client, and run once; the audit records each step", async () => {
		const { client, id } = await agent();
		const { session, home } = await shell();
		await mkdir(join(home, "build"));
		const running = client.sessions.at(session.id).exec("rm -rf build && echo gone >> log; cat log");
		const held = await pendingApproval(person, session.id);
		expect(held).toMatchObject({
			session: { id: session.id, workspace: "default" },
			by: { id, name: `token:${id}:agent` },
			kind: "run",
			reason: "match",
			preview: "rm -rf build && echo gone >> log; cat log\n",
			sha256: expect.stringMatching(/^[0-9a-f]{64}$/),
			state: "asked",
		});
		// Other callers continue, and so does the agent with actions outside its gate.
		expect((await session.exec("echo person")).text).toContain("person");
		expect((await client.sessions.at(session.id).exec("echo agent")).text).toContain("agent");
		expect(existsSync(join(home, "build"))).toBe(true);
		const decided = await person.approvals.decide(held.id, { decision: "grant", evenIfChanged: true });
		expect(decided).toMatchObject({ state: "granted", decidedBy: "admin" });
		expect(await running).toMatchObject({ status: "ended", exitCode: 0, text: "gone\n" });
		expect(existsSync(join(home, "build"))).toBe(false);
		await expect(person.approvals.decide(held.id, { decision: "grant" })).rejects.toMatchObject({ code: "conflict" });
		const { entries } = await person.audit({ session: session.id, limit: 1000 });
		const told = entries.filter(({ approval }) => approval === held.id);
		expect(told.sort((one, other) => one.action.localeCompare(other.action))).toMatchObject([
			{ action: "approval-asked", what: "run", by: { id } },
			{ action: "approval-decided", decision: "grant", by: { id: "admin" } },
			{ action: "approval-ended", state: "granted", by: { id } },
		]);
		expect(entries.filter(({ action, by }) => action === "run" && by?.id === id)).toHaveLength(2);
		expect(JSON.stringify(entries)).not.toContain("rm -rf");
	});

	it("a denied command is not run, and its caller gets the reason", async () => {
		const { client } = await agent();
		const { session, home } = await shell();
		await mkdir(join(home, "build"));
		const running = client.sessions.at(session.id).exec("rm -rf build");
		running.catch(() => {});
		const { id } = await pendingApproval(person, session.id);
		await person.approvals.decide(id, { decision: "deny", note: "not here" });
		await expect(running).rejects.toMatchObject({
			...refused,
			message: expect.stringMatching(/denied by admin: not here/),
		});
		expect(existsSync(join(home, "build"))).toBe(true);
		expect((await session.commands()).commands).toEqual([]);
	});

	it("a command is refused when no decision comes in time", async () => {
		const { client } = await agent({ match: ["rm -rf"], timeoutMs: 50 });
		const { session } = await shell();
		const running = client.sessions.at(session.id).exec("rm -rf build");
		await expect(running).rejects.toMatchObject({ ...refused, message: expect.stringMatching(/not decided in time/) });
	});

	it("a held command is withdrawn when its caller disconnects", async () => {
		const { client } = await agent();
		const { session } = await shell();
		const leaving = new AbortController();
		const running = client.sessions.at(session.id).exec("rm -rf build", { signal: leaving.signal });
		running.catch(() => {});
		const { id } = await pendingApproval(person, session.id);
		leaving.abort();
		await eventually("the withdrawal", async () => (await person.approvals.get(id)).state === "withdrawn");
		await expect(person.approvals.decide(id, { decision: "grant" })).rejects.toMatchObject({ code: "conflict" });
	});
});

describe("gated input", () => {
	it("a line typed in any number of pieces is held at its end, and then typed once", async () => {
		const { client } = await agent();
		const session = await cat();
		const mine = client.sessions.at(session.id);
		for (const key of ["r", "m", " -", "rx", "\x7f", "f", " it"]) await mine.write(key);
		const enter = mine.write("\r");
		const held = await pendingApproval(person, session.id);
		expect(held).toMatchObject({ kind: "input", preview: expect.stringContaining("f it\n") });
		expect(await textOf(session)).not.toContain("\n");
		expect(await person.approvals.decide(held.id, { decision: "grant" })).toMatchObject({ state: "granted" });
		await enter;
		await eventually("the line", async () => /rm -rf it\r\n$/.test(await textOf(session)));
		expect((await textOf(session)).match(/\n/g)).toHaveLength(2);
		await mine.write("ls\r");
	});

	it("held input expires when the session writes more output, unless the decision ignores that", async () => {
		const { client } = await agent();
		const session = await cat();
		const stale = client.sessions.at(session.id).write("rm -rf it\r");
		stale.catch(() => {});
		const held = await pendingApproval(person, session.id);
		await writeShown(session, "something else");
		const decided = await person.approvals.decide(held.id, { decision: "grant" });
		expect(decided).toMatchObject({ state: "expired", note: expect.stringMatching(/more output/) });
		await expect(stale).rejects.toMatchObject(refused);
		const again = client.sessions.at(session.id).write("rm -rf it\r");
		const { id } = await pendingApproval(person, session.id);
		await writeShown(session, "more");
		await person.approvals.decide(id, { decision: "grant", evenIfChanged: true });
		await again;
		await eventually("the line", async () => /rm -rf it\r\nrm -rf it\r\n$/.test(await textOf(session)));
		expect((await textOf(session)).match(/rm -rf/g)).toHaveLength(2);
	});

	it("approved input is not typed behind text that the agent has added to the line since", async () => {
		const { client } = await agent({ match: ["rm", "ls"] });
		const session = await cat();
		const writing = client.sessions.at(session.id).write("ls\r");
		writing.catch(() => {});
		const { id } = await pendingApproval(person, session.id);
		await client.sessions.at(session.id).write("rm -rf it; ");
		await person.approvals.decide(id, { decision: "grant", evenIfChanged: true });
		await expect(writing).rejects.toMatchObject({ ...refused, message: expect.stringMatching(/more was typed/) });
		expect(await textOf(session)).not.toContain("ls");
	});

	it("held input expires when another client takes control", async () => {
		const { client } = await agent();
		const session = await cat();
		const writing = client.sessions.at(session.id).write("rm -rf it\r");
		writing.catch(() => {});
		const { id } = await pendingApproval(person, session.id);
		await session.takeLease({ force: true });
		const decided = await person.approvals.decide(id, { decision: "grant", evenIfChanged: true });
		expect(decided).toMatchObject({ state: "expired", note: expect.stringMatching(/changed hands/) });
		await expect(writing).rejects.toMatchObject(refused);
	});

	it("keys without readable text are held, and are refused when the session ends", async () => {
		const { client } = await agent();
		const session = await cat();
		const writing = client.sessions.at(session.id).keys(["Up", "Enter"]);
		writing.catch(() => {});
		const held = await pendingApproval(person, session.id);
		expect(held).toMatchObject({ reason: "unreadable", preview: "\\u{1b}[A\n" });
		await session.kill();
		await expect(writing).rejects.toMatchObject({ ...refused, message: expect.stringMatching(/session has ended/) });
	});

	it('every key is held with keys: "all"', async () => {
		const { client } = await agent({ match: ["^y"], keys: "all" });
		const session = await cat();
		await client.sessions.at(session.id).write("n");
		await client.sessions.at(session.id).write("\x7f");
		const writing = client.sessions.at(session.id).write("y");
		writing.catch(() => {});
		await person.approvals.decide((await pendingApproval(person, session.id)).id, { decision: "deny" });
		await expect(writing).rejects.toMatchObject(refused);
	});

	it("input to a pipe is judged before its line ends, because closing the pipe ends the line as well", async () => {
		const { client } = await agent({ match: ["touch"] });
		const cwd = await temporaryDirectory();
		const session = await person.sessions.create({ argv: ["sh"], mode: "pipe", cwd, durable: false });
		const mine = client.sessions.at(session.id);
		await mine.write("tou");
		const writing = mine.write("ch made");
		writing.catch(() => {});
		const held = await pendingApproval(person, session.id);
		expect(held).toMatchObject({ reason: "match", preview: "touch made" });
		await session.eof();
		await eventually("its end", async () => (await session.info()).state !== "running");
		await expect(writing).rejects.toMatchObject(refused);
		expect(existsSync(join(cwd, "made"))).toBe(false);
	});

	it("repeated input asks for approval once", async () => {
		const { client } = await agent();
		const session = await cat();
		const mine = client.sessions.at(session.id);
		const place = { stream: "mine", position: 0 };
		const writing = mine.write("rm -rf it\r", place);
		await person.approvals.decide((await pendingApproval(person, session.id)).id, { decision: "grant" });
		await writing;
		await mine.write("rm -rf it\r", place);
		await eventually("the line", async () => /rm -rf it\r\nrm -rf it\r\n$/.test(await textOf(session)));
	});
});

it.each(Object.entries(linesInOneCall))(
	"a matching line in one call is not typed before it is approved, and then typed whole: %s",
	async (_, type) => {
		const { token } = await agent();
		const session = await cat();
		const refusal = expect(type({ url: server.url, token }, session)).rejects.toThrow(/denied/);
		const held = await pendingApproval(person, session.id);
		expect(held).toMatchObject({ kind: "input", preview: "rm -rf it\n" });
		await person.approvals.decide(held.id, { decision: "deny" });
		await refusal;
		expect(await textOf(session)).toBe("");
		const typing = type({ url: server.url, token }, session);
		await person.approvals.decide((await pendingApproval(person, session.id)).id, { decision: "grant" });
		await eventually("the line", async () => (await textOf(session)) === "rm -rf it\r\nrm -rf it\r\n");
		expect(await person.approvals.list()).toEqual([]);
		await session.kill();
		await typing;
	},
);

describe("the approver", () => {
	it("a token with a gate decides nothing: neither the requester, nor a token it made, nor another one", async () => {
		const lead = await agent({ match: ["git push"], stops: true });
		const { session } = await shell();
		const child = await agent({ match: ["rm -rf"], keys: "all" }, lead.client);
		// A child token has at least its parent's gate.
		expect(child.gate).toMatchObject({ match: ["git push", "rm -rf"], keys: "all", stops: true, signals: false });
		const other = await agent();
		const running = lead.client.sessions.at(session.id).exec("git push");
		running.catch(() => {});
		const { id } = await pendingApproval(person, session.id);
		for (const { client } of [lead, child, other]) {
			expect((await client.approvals.get(id)).state).toBe("asked");
			const deciding = client.approvals.decide(id, { decision: "grant" });
			await expect(deciding).rejects.toMatchObject({ code: "permission_denied" });
		}
		const viewer = await person.tokens.create({ scopes: [`session:${session.id}:view`] });
		const looking = connect({ url: server.url, token: viewer.token });
		expect(await looking.approvals.list()).toEqual([]);
		await expect(looking.approvals.decide(id, { decision: "grant" })).rejects.toMatchObject({ code: "not_found" });
		const operator = await person.tokens.create({ scopes: [`session:${session.id}:control`] });
		const deciding = connect({ url: server.url, token: operator.token }).approvals;
		expect(await deciding.decide(id, { decision: "deny" })).toMatchObject({ state: "denied" });
		await expect(running).rejects.toMatchObject(refused);
	});

	it("an approver sees requests in the feed, in lists and on the session's socket", async () => {
		const { client } = await agent();
		const { session } = await shell();
		const over = new AbortController();
		onTestFinished(() => over.abort());
		const feed: string[] = [];
		const following = (async () => {
			for await (const item of person.events({ signal: over.signal })) {
				if (item.kind === "begin") feed.push("begin");
				const { approval } = item.kind === "event" ? item.event : {};
				if (approval?.session.id === session.id) feed.push(approval.state);
			}
		})();
		await eventually("the feed", () => feed.includes("begin"));
		const heard: string[] = [];
		const attachment = session.attach({ role: "viewer", since: "end", activity: true });
		onTestFinished(() => attachment.detach());
		void (async () => {
			for await (const event of attachment) if (event.kind === "approval") heard.push(event.approval.state);
		})();
		const running = client.sessions.at(session.id).exec("rm -rf build");
		running.catch(() => {});
		const { id } = await pendingApproval(person, session.id);
		const listed = async () =>
			(await person.sessions.list({ overview: true })).find((one) => one.id === session.id)?.overview?.approvals;
		expect(await listed()).toBe(1);
		await eventually("the socket", () => heard.join() === "asked");
		await person.approvals.decide(id, { decision: "deny" });
		expect(await listed()).toBe(0);
		await eventually("the feed", () => feed.join() === "begin,asked,denied");
		await eventually("the socket", () => heard.join() === "asked,denied");
		over.abort();
		await following;
	});
});

it("what a start sets besides its arguments is judged, shown and approved, except values that may be secrets", async () => {
	const { client } = await agent({ match: ["touch"] });
	const digests = [];
	for (const hidden of ["touch one", "touch two"]) {
		const env = { CMD: hidden, BASH_ENV: "/tmp/first", COLORTERM: null };
		const start = client.sessions.create({ argv: ["bash", "-c", "$CMD"], cwd: "/tmp", env, durable: false });
		start.catch(() => {});
		const held = await pendingApproval(person);
		expect(held.preview).toBe("bash -c $CMD\nin /tmp\ncode: BASH_ENV=/tmp/first\nwith CMD=… -COLORTERM");
		digests.push(held.sha256);
		await denyAll();
		await expect(start).rejects.toMatchObject(refused);
	}
	expect(new Set(digests).size).toBe(2);
});

it("a token has a limited number of held actions", async () => {
	const { client } = await agent();
	const { session } = await shell();
	const run = () => client.sessions.at(session.id).exec("rm -rf x");
	const codes = Array.from({ length: 9 }, () => run().catch(({ code }) => code));
	// A slot released earlier would go to the request above the limit, which may arrive late.
	expect(await Promise.race(codes)).toBe("limit_exceeded");
	await denyAll();
	expect((await Promise.all(codes)).sort()).toEqual(["limit_exceeded", ...Array(8).fill("not_approved")]);
});

it("a token has a limit on the bytes of held bodies", async () => {
	const { client } = await agent({ match: ["^"] });
	const start = () => client.sessions.create({ argv: ["true", "x".repeat(9 * 1024 ** 2)], durable: false });
	const first = start();
	first.catch(() => {});
	const { id } = await pendingApproval(person);
	await expect(start()).rejects.toMatchObject({
		code: "limit_exceeded",
		message: expect.stringMatching(/no more bytes of bodies of requests that wait for approval: this token has/),
	});
	await person.approvals.decide(id, { decision: "deny" });
	await expect(first).rejects.toMatchObject(refused);
});

it.each([["("], ["(a)\\1"], ["x".repeat(201)]])("a token with the expression %s is refused", async (match) => {
	await expect(agent({ match: [match] })).rejects.toMatchObject({ code: "invalid_argument" });
});

/** The processes that evaluate expressions. */
async function judging(): Promise<number> {
	const children = (await readFile(`/proc/self/task/${process.pid}/children`, "utf8")).split(" ");
	const lines = await Promise.all(children.map((pid) => readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "")));
	return lines.filter((line) => line.includes("search/worker.js")).length;
}

it("all concurrent actions of a token are judged in one process and never held for lack of time; too many are refused", async () => {
	const { client } = await agent({ match: ["rm\\s+-rf"] });
	const start = () =>
		client.sessions.create({ argv: ["true"], durable: false }).then(
			() => "started",
			({ code }) => code,
		);
	let isOver = false;
	const outcomes = Promise.all(Array.from({ length: 16 }, start)).finally(() => {
		isOver = true;
	});
	let most = 0;
	while (!isOver) most = Math.max(most, await judging());
	expect(new Set(await outcomes)).toEqual(new Set(["started", "limit_exceeded"]));
	expect(most).toBe(1);
});

it("an expression that backtracks forever holds what it judges and delays no other caller", async () => {
	const { client } = await agent({ match: ["^(a+)+$"] });
	const { client: other } = await agent({ match: ["rm\\s+-rf"] });
	const argv = ["a".repeat(60), "!"];
	const starting = [0, 1].map(() => client.sessions.create({ argv, durable: false }));
	for (const one of starting) one.catch(() => {});
	await eventually("the process", async () => (await judging()) === 1);
	// Its turn comes before the second of those, which comes after the first.
	await other.sessions.create({ argv: ["true"], durable: false });
	expect((await person.approvals.list()).length).toBeLessThan(2);
	await eventually("both", async () => (await person.approvals.list()).length === 2);
	for (const { id, reason } of await person.approvals.list()) {
		expect(reason).toBe("unreadable");
		await person.approvals.decide(id, { decision: "deny" });
	}
	for (const one of starting) await expect(one).rejects.toMatchObject(refused);
});

it.each([
	["behind an escape sequence without an end", (rest: string) => `${rest} #\x1b]0;`],
	["across 64 KiB", (rest: string) => `: ${"x".repeat(65_530)};${rest}`],
])("an expression is matched against the exact text: %s", async (_, script) => {
	const { client } = await agent({ match: ["rm\\s+-rf"] });
	const starting = client.sessions.create({ argv: ["sh", "-c", script("rm -rf /nonexistent/x")], durable: false });
	starting.catch(() => {});
	const { id, reason } = await pendingApproval(person);
	expect(reason).toBe("match");
	await person.approvals.decide(id, { decision: "deny" });
	await expect(starting).rejects.toMatchObject(refused);
});

it("a signal that ends programs counts as a stop, and an interrupt does not", async () => {
	const { client } = await agent({ stops: true });
	const session = await person.sessions.create({ argv: ["sh", "-c", "trap : INT; cat"], durable: false });
	await eventually("cat", async () => (await session.inspect()).state === "waiting");
	for (const signal of ["SIGKILL", "TERM"]) {
		const sending = client.sessions.at(session.id).signal(signal);
		sending.catch(() => {});
		await person.approvals.decide((await pendingApproval(person, session.id)).id, { decision: "deny" });
		await expect(sending).rejects.toMatchObject(refused);
	}
	expect((await session.info()).state).toBe("running");
	await client.sessions.at(session.id).signal("INT");
});

it("the deletion of an ended session is held, and happens once it is approved", async () => {
	const { client } = await agent({ stops: true });
	const session = await person.sessions.create({ argv: ["true"], durable: false });
	await eventually("its end", async () => (await session.info()).state === "closed");
	const deleting = client.sessions.at(session.id).remove();
	deleting.catch(() => {});
	const { id, kind } = await pendingApproval(person, session.id);
	expect(kind).toBe("delete");
	expect(await person.approvals.decide(id, { decision: "grant" })).toMatchObject({ state: "granted" });
	await deleting;
	await expect(session.info()).rejects.toMatchObject({ code: "session_not_found" });
});

it("the deletion of a session that ends while it is held can still be approved, and denied", async () => {
	const { client } = await agent({ stops: true });
	for (const decision of ["deny", "grant"] as const) {
		const session = await person.sessions.create({ argv: ["cat"], durable: false });
		const deleting = client.sessions.at(session.id).remove({ force: true });
		deleting.catch(() => {});
		const { id } = await pendingApproval(person, session.id);
		await session.kill();
		await eventually("its end", async () => (await session.info()).state === "closed");
		await person.approvals.decide(id, { decision });
		if (decision === "grant") await deleting;
		else await expect(deleting).rejects.toMatchObject(refused);
		const left = (await person.sessions.list()).some((one) => one.id === session.id);
		expect(left).toBe(decision === "deny");
	}
});

it("on the alternate screen keys pass while the typed text does not match", async () => {
	const { client } = await agent();
	const script = "printf '\\033[?1049h'; exec cat";
	const session = await person.sessions.create({ argv: ["sh", "-c", script], durable: false });
	await eventually("cat", async () => (await session.inspect()).state === "waiting");
	const mine = client.sessions.at(session.id);
	await mine.keys(["Up"]);
	const writing = mine.write("rm -rf x\x1ba");
	writing.catch(() => {});
	const { id, reason, offset } = await pendingApproval(person, session.id);
	expect(reason).toBe("match");
	// New output of the program does not change the question.
	await session.write("drawn\r");
	await eventually("the drawing", async () => offsetsOf(await session.info()).end > (offset ?? 0));
	expect(await person.approvals.decide(id, { decision: "grant" })).toMatchObject({ state: "granted" });
	await writing;
});

it("a preview escapes invisible characters, and states how much it omits", async () => {
	const { client } = await agent();
	const session = await cat();
	const writing = client.sessions.at(session.id).write(`rm -rf \u061c\u3164\u{e0041}${"x".repeat(5_000)}\r`);
	writing.catch(() => {});
	const { id, preview } = await pendingApproval(person, session.id);
	expect(preview).toContain("rm -rf \\u{61c}\\u{3164}\\u{e0041}x");
	expect(preview).toMatch(/\[… 1\d{3} characters omitted …\]/);
	await person.approvals.decide(id, { decision: "deny" });
	await expect(writing).rejects.toMatchObject(refused);
});

it("a process of Codex exec-server continues after its termination was denied, and takes input again", async () => {
	const { token } = await agent({ stops: true });
	const link = await openLink(`${server.url.replace("http", "ws")}/codex/exec-server`, {
		authorization: `Bearer ${token}`,
	});
	const client = new ExecClient(link);
	onTestFinished(() => link.cut());
	await client.handshake();
	const process = await client.start("p", ["cat"], { pipeStdin: true });
	expect(await client.terminate("p")).toBe(true);
	await person.approvals.decide((await pendingApproval(person)).id, { decision: "deny" });
	await eventually("room for input", async () => {
		return (await client.write("p", "alive", "one").catch(() => "")) === "accepted";
	});
	await eventually("its answer", () => process.text().includes("alive"));
});

it("Codex app-server answers a write once it is decided, and input continues after its end was denied", async () => {
	const { token } = await agent({ match: ["touch"] });
	const link = await openLink(`${server.url.replace("http", "ws")}/codex/app-server`, {
		authorization: `Bearer ${token}`,
	});
	onTestFinished(() => link.cut());
	const client = await new AppClient(link).initialize({ experimentalApi: true });
	const ended = client.exec(["cat"], { processId: "p", streamStdin: true, streamStdoutStderr: true });
	ended.catch(() => {});
	await eventually("the process", () =>
		client.write("p", "one\n").then(
			() => true,
			() => false,
		),
	);
	for (const isLast of [false, true]) {
		const writing = client.write("p", "touch", isLast);
		const refusal = expect(writing).rejects.toThrow(/denied by admin/);
		await person.approvals.decide((await pendingApproval(person)).id, { decision: "deny" });
		await refusal;
	}
	await client.write("p", "two\n", true);
	expect(await ended).toMatchObject({ exitCode: 0 });
});

describe("every route", () => {
	it.each(Object.entries(inputPaths))("a gated action is held through %s", async (_, take) => {
		const { token } = await agent({ match: ["rm -rf"], signals: true, stops: true });
		const { session, home } = await shell();
		await writeFile(join(home, "x"), "");
		const taken = take({ url: server.url, token }, session);
		const refusal = expect(taken).rejects.toThrow(/approv|denied/);
		const { id } = await pendingApproval(person);
		await person.approvals.decide(id, { decision: "deny" });
		await refusal;
		expect(existsSync(join(home, "x"))).toBe(true);
		expect((await session.info()).state).toBe("running");
	});

	it("input to a terminal of Multica is held", async () => {
		const home = await temporaryDirectory();
		await person.workspaces.put(WORKSPACE, { roots: [home] });
		await person.workspaces.tasks(WORKSPACE).put(TASK, { workDir: home, issueId: ISSUE, env: { HOME: home } });
		const scopes = [`workspace:${WORKSPACE}:manage`];
		const { token } = await person.tokens.create({ scopes, gate: { match: ["touch"] } });
		const client = MulticaClient.connect(server);
		onTestFinished(() => client.socket.terminate());
		await client.auth(token);
		await client.frame("terminal.opened");
		client.type(`touch ${home}/made\n`);
		const { id } = await pendingApproval(person, client.session);
		await person.approvals.decide(id, { decision: "deny" });
		// Refused input is dropped, and later input is typed.
		client.type("echo $((40 + 2))\n");
		await client.text(/42/);
		expect(existsSync(join(home, "made"))).toBe(false);
	});
});

it("an agent's call waits, and its answer begins with the approver and their note", async () => {
	const { token } = await agent();
	const { session, home } = await shell();
	await writeFile(join(home, "x"), "");
	const client = await connectOverHttp({ url: server.url, token }, "2025-11-25");
	onTestFinished(() => client.close());
	const call = callTool(client, "run", { session: session.id, command: "rm -rf x; echo done" });
	await person.approvals.decide((await pendingApproval(person, session.id)).id, {
		decision: "grant",
		note: "go ahead",
	});
	const { text, isError } = await call;
	expect(text).toMatch(/^\[this run was approved by admin: go ahead\]\n(.*\n)*done\n$/);
	expect(isError).toBe(false);
	expect(existsSync(join(home, "x"))).toBe(false);
});
