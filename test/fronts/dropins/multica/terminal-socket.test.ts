import { describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import { SessionError } from "../../../../src/core/errors.ts";
import type { Session } from "../../../../src/core/session/session.ts";
import { FakeClock } from "../../../support/fake-clock.ts";
import { operator } from "../../../support/owner.ts";
import { eventually } from "../../../support/reading.ts";
import { ask } from "../../../support/server.ts";
import { standsStill } from "../../../support/standstill.ts";
import { MulticaClient } from "./support/multica-client.ts";
import { ISSUE, OTHER_WORKSPACE, putTask, startMultica, TASK, WORKSPACE } from "./support/multica-server.ts";

const usual = { task_id: TASK, workspace_id: WORKSPACE, cols: 0, rows: 0 };

/** Requests a terminal. Returns the answer, `opened` or `error`. */
async function open(client: MulticaClient, request_id: string, changes: object = {}) {
	client.say("terminal.open", { ...usual, request_id, ...changes });
	return client.until(`an answer to ${request_id}`, () =>
		client.frames.find(({ payload }) => payload?.request_id === request_id),
	);
}

async function opened(client: MulticaClient, request_id: string, changes: object = {}): Promise<string> {
	const { type, payload } = await open(client, request_id, changes);
	if (type !== "terminal.opened") throw new Error(JSON.stringify(payload));
	return String(payload.session_id);
}

describe("the socket for many terminals", () => {
	it("the socket requires a token in the request's headers", async () => {
		const server = await startMultica();
		const status = async (headers: Record<string, string>, isSocket = true) =>
			(await ask(server.url, { method: "GET", path: "/multica/terminal", isSocket, headers })).status;
		expect(await status({})).toBe(401);
		expect(await status({ authorization: "Bearer nonsense" })).toBe(401);
		const authorization = `Bearer ${await server.token()}`;
		expect(await status({ authorization }, false)).toBe(400);
		expect(await status({ authorization })).toBe(101);
	});

	it("B1, M4: open answers with the same request id, a new session id, and the task's stored directory", async () => {
		const server = await startMultica();
		const client = await MulticaClient.raw(server);
		const names = { user_id: "u-1", issue_id: "i-1", prior_session_id: "p-1", work_dir: "/somewhere/else" };
		const { type, payload } = await open(client, "r1", { ...names, cols: 101, rows: 31 });
		expect([type, payload]).toEqual([
			"terminal.opened",
			{ request_id: "r1", session_id: expect.any(String), work_dir: server.workDir, shell: "bash" },
		]);
		client.type("stty size; pwd; echo $MULTICA_USER_ID,$MULTICA_ISSUE_ID,$CLAUDE_SESSION_ID.\n");
		const text = await client.text(/u-1,i-1,p-1\./);
		expect(text).toContain("31 101");
		expect(text).toContain(server.workDir);
	});

	it("M3, M5, M6: open refuses a task of another workspace or none, and reveals no more than the caller may see", async () => {
		const server = await startMultica();
		await server.workspaces.put(OTHER_WORKSPACE, { roots: [] });
		await server.workspaces.putTask(OTHER_WORKSPACE, "theirs", { workDir: server.workDir }, operator);
		const member = await MulticaClient.raw(server);
		const both = await MulticaClient.raw(
			server,
			await server.token(`workspace:${WORKSPACE}:manage`, `workspace:${OTHER_WORKSPACE}:manage`),
		);
		const code = async (client: MulticaClient, id: string, changes: object) =>
			(await open(client, id, changes)).payload.code;
		expect(await code(member, "1", { workspace_id: OTHER_WORKSPACE })).toBe("workspace_mismatch");
		expect(await code(member, "2", { task_id: "nowhere" })).toBe("task_not_found");
		expect(await code(member, "3", { task_id: "theirs" })).toBe("task_not_found");
		expect(await code(member, "4", { task_id: "theirs", workspace_id: OTHER_WORKSPACE })).toBe("task_not_found");
		expect(await code(both, "5", { task_id: "theirs" })).toBe("workspace_mismatch");
		expect(server.sessions.list()).toEqual([]);
	});

	it.each([
		["user_id", "x".repeat(257), /user_id/],
		["user_id", "\u001b]0;x\u0007", /user_id/],
		["issue_id", "a\nb", /issue_id/],
		["prior_session_id", "a\u0000b", /prior_session_id/],
		["user_id", 5, /user_id/],
		["cols", 1e308, /cols/],
		["rows", -1, /rows/],
	])("open reports an invalid %s: %j", async (name, value, message) => {
		const server = await startMultica();
		const client = await MulticaClient.raw(server);
		const { type, payload } = await open(client, "wrong", { [name]: value });
		expect([type, payload.code, payload.message]).toEqual([
			"terminal.error",
			"spawn_failed",
			expect.stringMatching(message),
		]);
		expect(server.sessions.list()).toEqual([]);
	});

	it("1.8: each failure is reported with its code and request id, and the socket continues", async () => {
		let failure: SessionError | Error = new SessionError("unsupported", "no terminals here");
		const server = await startMultica({
			home: (home) => ({
				...home,
				start: async () => {
					throw failure;
				},
			}),
		});
		const client = await MulticaClient.raw(server);
		expect((await open(client, "1")).payload).toMatchObject({ code: "unsupported_os", message: "no terminals here" });
		failure = new SessionError("spawn_failed", "no such directory\u001b[2J");
		expect((await open(client, "2")).payload).toMatchObject({ code: "spawn_failed", message: "no such directory[2J" });
		failure = new Error("a bug of ours");
		const { payload } = await open(client, "3");
		expect(payload).toMatchObject({ code: "internal", request_id: "3" });
		expect(payload.message).not.toContain("bug");
		expect(server.problems).toEqual([failure]);
		expect(client.socket.readyState).toBe(WebSocket.OPEN);
		const operator = await MulticaClient.raw(server, await server.token(`workspace:${WORKSPACE}:operate`));
		expect((await open(operator, "4")).payload.code).toBe("forbidden");
	});

	it("B3, 1.9: output, input, sizes and the exit of each terminal carry its session id", async () => {
		const server = await startMultica();
		const client = await MulticaClient.raw(server);
		const [one, two] = [await opened(client, "1"), await opened(client, "2")];
		expect(one).not.toBe(two);
		client.type("echo I-am-$((0+1))\n", one);
		client.say("terminal.resize", { session_id: two, cols: 55, rows: 0 });
		client.type("stty size; echo I-am-$((1+1))\n", two);
		await client.text(/I-am-1/, one);
		expect(await client.text(/I-am-2/, two)).toContain("24 55");
		expect(client.output(one).toString()).not.toContain("I-am-2");
		client.say("terminal.close", { session_id: one, reason: "user_requested" });
		client.type("exit 9\n", two);
		const exit = (session: string) =>
			client.until("an exit", () =>
				client.frames.find(({ type, payload }) => type === "terminal.exit" && payload.session_id === session),
			);
		expect((await exit(one)).payload).toMatchObject({ exit_code: -1, reason: "user_requested" });
		expect((await exit(two)).payload).toEqual({ session_id: two, exit_code: 9, reason: "exited" });
		expect(client.socket.readyState).toBe(WebSocket.OPEN);
	});

	it("2.3, R5, M15: a frame for an unknown or ended session is answered with session_not_found, except close", async () => {
		const server = await startMultica();
		const client = await MulticaClient.raw(server);
		const other = await MulticaClient.raw(server);
		const session = await opened(client, "1");
		const notFound = (count: number) =>
			client.until("errors", () => {
				const errors = client.frames.filter(({ type }) => type === "terminal.error");
				return errors.length >= count && errors;
			});
		client.say("terminal.close", { session_id: "nowhere" });
		client.type("x", "nowhere");
		client.say("terminal.resize", { session_id: "nowhere", cols: 1, rows: 1 });
		const errors = await notFound(2);
		expect(errors.map(({ payload }) => [payload.code, payload.session_id])).toEqual([
			["session_not_found", "nowhere"],
			["session_not_found", "nowhere"],
		]);
		// A session of another socket is unknown here as well, for every owner.
		other.type("exit\n", session);
		await other.frame("terminal.error");
		client.type("exit\n", session);
		await client.frame("terminal.exit");
		client.type("x", session);
		expect((await notFound(3)).at(-1)?.payload).toMatchObject({ code: "session_not_found", session_id: session });
	});

	it("B2: a terminal left by a closed socket returns to the next socket of the same user at the same task", async () => {
		const server = await startMultica();
		const token = await server.token();
		const first = await MulticaClient.raw(server, token);
		const [alice, bob] = [await opened(first, "1", { user_id: "alice" }), await opened(first, "2", { user_id: "bob" })];
		first.cut();
		await first.closed;
		const second = await MulticaClient.raw(server, token);
		const { payload } = await open(second, "3", { user_id: "bob" });
		expect(payload).toMatchObject({ session_id: bob, resumed: true });
		expect(await opened(second, "4", { user_id: "bob" })).not.toBe(alice);
		expect(await opened(second, "5", { user_id: "alice" })).toBe(alice);
	});

	it("R9, W12, 1.12: without a grace time all terminals and pending opens end with the socket", async () => {
		const server = await startMultica({ graceMs: 0 });
		const client = await MulticaClient.raw(server);
		await opened(client, "1");
		for (let index = 2; index < 10; index++) client.say("terminal.open", { ...usual, request_id: String(index) });
		await opened(client, "10");
		client.cut();
		await eventually("all to end", () => server.sessions.list().length > 0 && server.running().length === 0);
		await server.close();
		expect(server.running()).toEqual([]);
		expect(server.problems).toEqual([]);
	});

	it("W8, S20, B5: a terminal whose program does not read delays no other, and reports that its input is full", async () => {
		const server = await startMultica();
		const client = await MulticaClient.raw(server);
		const [stuck, free] = [await opened(client, "1"), await opened(client, "2")];
		client.type("stty raw -echo; echo ready-$((1+1)); sleep 1000\n", stuck);
		await client.text(/ready-2/, stuck);
		for (let index = 0; index < 3; index++) client.type(Buffer.alloc(1_000_000, "x"), stuck);
		expect((await client.frame("terminal.error")).payload).toMatchObject({ code: "limit_reached", session_id: stuck });
		client.type("echo free-$((1+1))\n", free);
		await client.text(/free-2/, free);
		client.say("terminal.close", { session_id: stuck });
		expect((await client.frame("terminal.exit")).payload).toMatchObject({ session_id: stuck, reason: "client_close" });
	});

	it("B4, R10: a client that reads nothing for a while gets all output of all terminals in order", async () => {
		const server = await startMultica();
		const client = await MulticaClient.raw(server);
		const sessions = await Promise.all(Array.from({ length: 4 }, (_, index) => opened(client, String(index))));
		for (const session of sessions) client.type("exec seq 1 300000\n", session);
		client.socket.pause();
		// The kernel may buffer all output of some of them.
		const isHeldUp = async (session: Session) => {
			const { pid } = await session.info();
			return standsStill(pid as number, async () => (await session.end()).offset);
		};
		for (const session of server.running()) {
			await eventually("the program to wait or be done", () => session.state.status !== "running" || isHeldUp(session));
		}
		client.socket.resume();
		await client.until("all exits", () => client.types.filter((type) => type === "terminal.exit").length === 4);
		const whole = Array.from({ length: 300_000 }, (_, index) => `${index + 1}\r\n`).join("");
		for (const session of sessions) {
			expect(client.output(session).toString()).toContain(whole);
			expect(client.frames.filter(({ payload }) => payload?.session_id === session).at(-1)?.type).toBe("terminal.exit");
		}
	});

	it("B11: the socket is informed when another client takes a terminal over by its id", async () => {
		const server = await startMultica();
		const token = await server.token();
		const raw = await MulticaClient.raw(server, token);
		const session = await opened(raw, "1");
		const taker = await MulticaClient.open(server, token, { query: { attach: session }, issue: ISSUE });
		expect((await raw.frame("terminal.close")).payload).toEqual({ session_id: session, reason: "taken_over" });
		raw.type("x", session);
		expect((await raw.frame("terminal.error")).payload.code).toBe("session_not_found");
		taker.type("echo taken-$((1+1))\n");
		await taker.text(/taken-2/);
	});

	it("B13: a socket has at most a hundred terminals", async () => {
		let starts = 0;
		let refuse = () => {};
		const refused = new Promise<never>((_, reject) => {
			refuse = () => reject(new SessionError("spawn_failed", "enough"));
		});
		const server = await startMultica({
			home: (home) => ({
				...home,
				start: () => {
					starts++;
					return refused;
				},
			}),
		});
		const client = await MulticaClient.raw(server);
		for (let index = 0; index < 101; index++) client.say("terminal.open", { ...usual, request_id: String(index) });
		expect((await client.frame("terminal.error")).payload).toMatchObject({ code: "limit_reached", request_id: "100" });
		expect(starts).toBe(100);
		refuse();
		await client.until("the errors of the others", () => client.types.length === 101);
	});

	it("the socket accepts a JWT and closes when it expires", async () => {
		const clock = new FakeClock();
		const server = await startMultica({ jwtClock: clock });
		await putTask(server, "again", {});
		const exp = clock.now() / 1000 + 60;
		const client = await MulticaClient.raw(
			server,
			server.jwt({ exp, sub: "eve", workspaces: { [WORKSPACE]: "manage" } }),
		);
		clock.advance(59_999);
		await opened(client, "1");
		clock.advance(1);
		expect((await client.closed).code).toBe(1008);
	});
});
