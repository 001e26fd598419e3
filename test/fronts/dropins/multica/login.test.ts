import { describe, expect, it } from "vitest";
import { FakeClock } from "../../../support/fake-clock.ts";
import { ask } from "../../../support/server.ts";
import { MulticaClient } from "./support/multica-client.ts";
import { ISSUE, OTHER_WORKSPACE, putTask, startMultica, WORKSPACE } from "./support/multica-server.ts";

const path = (query: string, issue = ISSUE) => `/ws/issues/${issue}/terminal?${query}`;
const here = `workspace_id=${WORKSPACE}`;

describe("the address of an issue's terminal", () => {
	it("S1, 1.2: each fault of a request is refused over HTTP, in order", async () => {
		const server = await startMultica();
		const stranger = await server.token(`workspace:${OTHER_WORKSPACE}:manage`);
		const status = async (target: string, extra: object = {}) =>
			(await ask(server.url, { method: "GET", path: target, isSocket: true, ...extra })).status;
		const cookie = { cookie: `multica_auth=${stranger}` };
		expect(await status(path(""))).toBe(400);
		expect(await status(path("workspace_id=my-team"), { headers: cookie })).toBe(400);
		expect(await status(path(here, ""))).toBe(400);
		expect(await status(path(here), { headers: cookie })).toBe(403);
		expect(await status(path(here), { headers: cookie, isSocket: false })).toBe(403);
		expect(await status(path(here), { isSocket: false })).toBe(400);
		expect(await status(path(here), { isSocket: false, method: "POST" })).toBe(405);
		expect(await status(path(here), { headers: { origin: "https://evil.test" } })).toBe(403);
		expect(await status(path(here), { headers: { cookie: "multica_auth=nonsense" } })).toBe(101);
		expect(await status(path(`workspace_id=${WORKSPACE.replaceAll("-", "").toUpperCase()}`))).toBe(101);
		const { text } = await ask(server.url, { method: "GET", path: path(""), isSocket: true });
		expect(text).toContain('{"error":"workspace_id must be a UUID"}\n');
		expect(text).toContain("text/plain");
	});

	it("S2, R11: programs and pages of the server connect, and pages of other origins do not, with any cookie", async () => {
		const server = await startMultica({ allowedOrigins: ["https://app.example"] });
		const cookie = `multica_auth=${await server.token()}`;
		const status = async (origin?: string) => {
			const headers = { cookie, ...(origin === undefined ? {} : { origin }) };
			return (await ask(server.url, { method: "GET", path: path(here), isSocket: true, headers })).status;
		};
		expect(await status()).toBe(101);
		expect(await status(server.url)).toBe(101);
		expect(await status("https://app.example")).toBe(101);
		expect(await status("https://app.example.evil.test")).toBe(403);
		expect(await status("null")).toBe(403);
	});
});

describe("sign-in of a client", () => {
	it("S3, S4, R16: the first frame signs in, and auth_ack precedes everything of the terminal", async () => {
		const server = await startMultica();
		const client = await MulticaClient.open(server);
		expect(client.types.slice(0, 2)).toEqual(["auth_ack", "terminal.opened"]);
		expect(JSON.stringify(client.frames[0])).toBe('{"type":"auth_ack"}');
	});

	it("S3: a cookie signs in without auth_ack; a later auth frame is answered and changes nothing", async () => {
		const server = await startMultica();
		const token = await server.token();
		const client = MulticaClient.connect(server, { headers: { cookie: `a=b; multica_auth=${token}; c=d` } });
		await client.frame("terminal.opened");
		expect(client.types[0]).toBe("terminal.opened");
		client.say("auth", { token: "nonsense" });
		client.say("auth", { token });
		await client.frame("auth_ack");
		expect(client.types.filter((type) => type === "auth_ack").length).toBe(1);
		client.type("echo still-$((40+2))\n");
		await client.text(/still-42/);
	});

	it("S3: the first frame signs in if the cookie is not valid any more", async () => {
		const server = await startMultica();
		const headers = { cookie: "multica_auth=hwt_000000000000_old" };
		const client = await MulticaClient.open(server, undefined, { headers });
		expect(client.types[0]).toBe("auth_ack");
	});

	it("a JWT of a trusted issuer signs in as its user", async () => {
		const server = await startMultica();
		const token = server.jwt({ sub: "carol", workspaces: { [WORKSPACE]: "manage" } });
		const client = await MulticaClient.open(server, token);
		client.type("echo user=$MULTICA_USER_ID.\n");
		await client.text(/user=carol\./);
	});

	it("S3, B8, B9: a failed sign-in is explained in one frame that all clients show, and closed with 1008", async () => {
		const server = await startMultica();
		const hasty = await startMultica({ times: { loginMs: 100 } });
		const stranger = await server.token(`workspace:${OTHER_WORKSPACE}:manage`);
		const refused = async (say: (client: MulticaClient) => void, by = server) => {
			const client = MulticaClient.connect(by);
			await client.ready();
			say(client);
			const { code } = await client.closed;
			expect(client.frames.length).toBe(1);
			const [frame] = client.frames;
			expect(frame?.error).toBe(frame?.payload.message);
			return [frame?.type, frame?.payload.code, code];
		};
		const unauthorized = ["terminal.error", "unauthorized", 1008];
		expect(await refused(() => {}, hasty)).toEqual(unauthorized);
		expect(await refused((client) => client.socket.send("{"))).toEqual(unauthorized);
		expect(await refused((client) => client.say("auth", { token: "" }))).toEqual(unauthorized);
		expect(await refused((client) => client.say("auth", { token: 7 }))).toEqual(unauthorized);
		expect(await refused((client) => client.type("ls\n", "x"))).toEqual(unauthorized);
		expect(await refused((client) => client.say("auth", { token: "nonsense" }))).toEqual(unauthorized);
		const other = { workspaces: { [OTHER_WORKSPACE]: "manage" } };
		expect(await refused((client) => client.say("auth", { token: stranger }))).toEqual([
			"terminal.error",
			"forbidden",
			1008,
		]);
		expect(await refused((client) => client.say("auth", { token: server.jwt(other) }))).toEqual([
			"terminal.error",
			"forbidden",
			1008,
		]);
		expect([...server.running(), ...hasty.running()]).toEqual([]);
		expect([...server.problems, ...hasty.problems]).toEqual([]);
	});

	it("B10: a client may send no more than a token before it is signed in", async () => {
		const server = await startMultica();
		const client = MulticaClient.connect(server);
		await client.ready();
		client.socket.send("x".repeat(17_000));
		expect((await client.closed).code).toBe(1009);
		expect(client.frames.map(({ payload }) => payload.code)).toEqual(["too_large"]);
	});

	it("failed sign-ins count against the same rate limit as all wrong credentials", async () => {
		const server = await startMultica();
		const attempt = async () => {
			const client = MulticaClient.connect(server);
			await client.auth("wrong");
			await client.closed;
			return client.frames[0]?.payload.code;
		};
		for (let index = 0; index < 10; index++) expect(await attempt()).toBe("unauthorized");
		expect(await attempt()).toBe("limit_reached");
		await MulticaClient.open(server);
	});

	it("W13: a terminal requires the right to start programs, and viewing the right to read", async () => {
		const server = await startMultica();
		const operator = await server.token(`workspace:${WORKSPACE}:operate`);
		const client = MulticaClient.connect(server);
		await client.auth(operator);
		expect((await client.closed).code).toBe(1008);
		expect(client.frames.at(-1)?.payload).toMatchObject({ code: "forbidden", request_id: expect.any(String) });
		expect(server.running()).toEqual([]);
	});

	it("B14: a client is closed with 1008 when its token is revoked or its JWT expires", async () => {
		const clock = new FakeClock();
		const server = await startMultica({ jwtClock: clock });
		const { secret, token } = await server.access.createToken(server.access.admin, {
			scopes: [`workspace:${WORKSPACE}:manage`],
		});
		const revoked = await MulticaClient.open(server, secret);
		const exp = clock.now() / 1000 + 60;
		const expiring = await MulticaClient.open(server, server.jwt({ exp, workspaces: { [WORKSPACE]: "manage" } }));
		await server.access.revokeToken(server.access.admin, token.id);
		expect((await revoked.closed).code).toBe(1008);
		clock.advance(59_999);
		await expiring.pid();
		clock.advance(1);
		expect((await expiring.closed).code).toBe(1008);
	});
});

describe("an issue", () => {
	it("S5, B16: an issue is found by its id in any spelling, and by its key", async () => {
		const server = await startMultica();
		for (const issue of [ISSUE, ISSUE.toUpperCase(), ISSUE.replaceAll("-", ""), "MUL-2295"]) {
			const client = await MulticaClient.open(server, undefined, { issue });
			expect(client.frames[1]?.payload).toMatchObject({ work_dir: server.workDir, shell: "bash" });
			client.cut();
		}
	});

	it("1.5: an issue without a task here is task_not_found without a request_id, and closes", async () => {
		const server = await startMultica();
		await server.workspaces.put(OTHER_WORKSPACE, { roots: [] });
		for (const options of [{ issue: "MUL-1" }, { issue: "OTHER-2295" }, { query: { workspace_id: OTHER_WORKSPACE } }]) {
			const client = MulticaClient.connect(server, options);
			await client.auth(server.adminToken);
			expect((await client.closed).code).toBe(1008);
			const [, error, ...rest] = client.frames;
			expect(error).toMatchObject({ type: "terminal.error", payload: { code: "task_not_found" } });
			expect(error?.payload).not.toHaveProperty("request_id");
			expect(rest).toEqual([]);
		}
	});

	it("S6: an issue with several tasks opens the newest", async () => {
		const server = await startMultica();
		await putTask(server, "newer", { workDir: "/" });
		const client = await MulticaClient.open(server);
		client.type("echo task=$MULTICA_TASK_ID.\n");
		await client.text(/task=newer\./);
	});
});
