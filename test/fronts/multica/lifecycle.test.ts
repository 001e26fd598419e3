import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { createConnection } from "node:net";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { Session } from "../../../src/core/session.ts";
import type { Home } from "../../../src/core/sessions.ts";
import { FakeClock } from "../../helpers/fake-clock.ts";
import { KeeperSite } from "../../helpers/keepers.ts";
import { eventually } from "../../helpers/reading.ts";
import { standsStill } from "../../helpers/standstill.ts";
import { temporaryDirectory } from "../../helpers/temporary.ts";
import { MulticaClient } from "./multica-client.ts";
import { ISSUE, putTask, startMultica, WORKSPACE } from "./multica-server.ts";

async function pidOf(client: MulticaClient): Promise<number> {
	client.type("echo pid=$$.\n");
	return Number(/pid=(\d+)\./.exec(await client.text(/pid=\d+\./))?.[1]);
}

/** Eight bytes each, so that every one has its place. */
function numberedLines(bytes: number): Buffer {
	const lines = Buffer.alloc(bytes);
	for (let at = 0; at < bytes; at += 8) lines.write(`${String(at / 8).padStart(7, "0")}\n`, at, "latin1");
	return lines;
}

function isAlive(pid: number): boolean {
	try {
		process.kill(pid, 0);
		return true;
	} catch {
		return false;
	}
}

describe("a client that comes back within the grace time", () => {
	it("B2: finds its shell under the same session id, with what it has missed, however it left", async () => {
		const server = await startMultica();
		const token = await server.token();
		const leaving: ((client: MulticaClient) => void)[] = [
			(client) => client.cut(),
			(client) => client.socket.close(),
			(client) => client.say("terminal.close", { session_id: client.session, reason: "panel_unmount" }),
			(client) => client.say("terminal.close", { session_id: client.session, reason: "client_detach" }),
		];
		const first = await MulticaClient.open(server, token);
		const pid = await pidOf(first);
		let client = first;
		for (const [index, leave] of leaving.entries()) {
			client.type(`sleep 0.2; echo later-${index}-$((1+1))\n`);
			leave(client);
			await client.closed;
			client = await MulticaClient.open(server, token);
			expect(client.session).toBe(first.session);
			expect(client.frames[1]?.payload.resumed).toBe(true);
			await client.text(new RegExp(`pid=${pid}\\.[^]*later-${index}-2`));
			expect(await pidOf(client)).toBe(pid);
		}
		expect(server.running().length).toBe(1);
	});

	it("B2: and can go on at the very byte, if it says where", async () => {
		const server = await startMultica();
		const token = await server.token();
		const first = await MulticaClient.open(server, token);
		first.type("echo one-$((0+1)); read number; echo two-$number\n");
		await first.text(/one-1/);
		first.cut();
		await first.closed;
		const since = first.output().byteLength;
		const again = await MulticaClient.open(server, token, { query: { since: String(since) } });
		again.type("2\n");
		await again.text(/two-2/);
		const whole = Buffer.concat([first.output(), again.output()]).toString();
		expect(whole.match(/one-1/g)?.length).toBe(1);
		expect(again.frames.find(({ type }) => type === "terminal.data")?.payload.offset).toBe(since);
	});

	it("B2: gets of a long past the newest, from the beginning of a line", async () => {
		const server = await startMultica();
		const token = await server.token();
		const first = await MulticaClient.open(server, token);
		first.type("for i in $(seq 1 60000); do echo line-$i; done; echo end-$((1+1))\n");
		await first.text(/end-2/);
		first.cut();
		await first.closed;
		const again = await MulticaClient.open(server, token);
		const text = await again.text(/end-2/);
		expect(text).toMatch(/^line-\d+\r\n/);
		expect(text.length).toBeLessThanOrEqual(256 * 1024);
		expect(text.length).toBeGreaterThan(200 * 1024);
	});

	it("B2: is the same user in the same workspace at the same task, and nobody else", async () => {
		const server = await startMultica();
		await putTask(server, "second", { issueId: "second-issue", issueKey: "MUL-2" });
		const [alice, bob] = [await server.token(), await server.token()];
		const first = await MulticaClient.open(server, alice);
		first.cut();
		await first.closed;
		const others = [await MulticaClient.open(server, bob), await MulticaClient.open(server, alice, { issue: "MUL-2" })];
		for (const other of others) expect(other.session).not.toBe(first.session);
		expect((await MulticaClient.open(server, alice)).session).toBe(first.session);
	});

	it("1.12: finds it only if nobody has it: each connection has a shell of its own", async () => {
		const server = await startMultica();
		const token = await server.token();
		const [first, second] = [await MulticaClient.open(server, token), await MulticaClient.open(server, token)];
		expect(first.session).not.toBe(second.session);
	});

	it("B2: or too late, when the shell is gone", async () => {
		const clock = new FakeClock();
		const server = await startMultica({ graceMs: 5_000, clock });
		const token = await server.token();
		const first = await MulticaClient.open(server, token);
		const pid = await pidOf(first);
		first.cut();
		await eventually("the wait to begin", () => clock.pending === 1);
		clock.advance(4_999);
		expect(isAlive(pid)).toBe(true);
		clock.advance(1);
		await eventually("the shell to end", () => !isAlive(pid));
		expect((await MulticaClient.open(server, token)).session).not.toBe(first.session);
	});

	it("B19: or to the next server, which keepers make possible", async () => {
		const site = await KeeperSite.create();
		const directory = await temporaryDirectory();
		const before = await site.open();
		const server = await startMultica({ durable: before.keepers, directory });
		const { workDir } = server;
		const jwt = server.jwt({ sub: "dora", workspaces: { [WORKSPACE]: "manage" } });
		const first = await MulticaClient.open(server, jwt);
		const pid = await pidOf(first);
		await server.close();
		expect((await first.closed).code).toBe(1012);
		await before.keepers.close();

		const clock = new FakeClock();
		const { keepers, adopted } = await site.open();
		const next = await startMultica({ durable: keepers, adopted, directory, clock, graceMs: 5_000 });
		await putTask(next, "bbbbbbbb-2222-4333-8444-000000000001", { workDir });
		const again = await MulticaClient.open(next, jwt);
		expect(again.session).toBe(first.session);
		expect(await pidOf(again)).toBe(pid);
		again.cut();
		await eventually("the wait to begin", () => clock.pending === 1);
		clock.advance(5_000);
		await eventually("the shell to end", () => !isAlive(pid));
		await next.close();
		await keepers.close();
	});
});

describe("a keeper that dies", () => {
	it("S17, W5, B3: is told to the client at once, as an exit and a close", async () => {
		const site = await KeeperSite.create();
		const { keepers } = await site.open();
		const server = await startMultica({ durable: keepers });
		const client = await MulticaClient.open(server);
		await pidOf(client);
		process.kill((await site.record(client.session)).keeper.pid, "SIGKILL");
		const { payload } = await client.frame("terminal.exit");
		expect(payload).toMatchObject({ exit_code: -1, reason: "daemon_disconnected" });
		expect((await client.closed).code).toBe(1011);
		await server.close();
		await keepers.close();
	});
});

describe("without a grace time", () => {
	it("B2, 1.12: whoever leaves ends the shell, as Multica promises", async () => {
		const server = await startMultica({ graceMs: 0 });
		for (const leave of [(client: MulticaClient) => client.cut(), (client: MulticaClient) => client.socket.close()]) {
			const client = await MulticaClient.open(server);
			const pid = await pidOf(client);
			leave(client);
			await eventually("the shell to end", () => !isAlive(pid));
		}
		expect(server.running()).toEqual([]);
	});

	it("S23, R3: twenty that are closed at once end in about one grace period, though none of them wants to", async () => {
		const server = await startMultica({ graceMs: 0 });
		const clients = await Promise.all(Array.from({ length: 20 }, () => MulticaClient.open(server)));
		for (const client of clients) client.type("trap '' HUP; echo ready-$((1+1))\n");
		await Promise.all(clients.map((client) => client.text(/ready-2/)));
		const begun = performance.now();
		for (const client of clients) client.cut();
		await eventually("all shells to end", () => server.running().length === 0);
		expect(performance.now() - begun).toBeGreaterThan(200);
		expect(performance.now() - begun).toBeLessThan(20 * 250);
	});

	it("R6, R7, M11, M16, M18: the server has closed only when every shell is gone, for everybody who closes it", async () => {
		const server = await startMultica({ graceMs: 0 });
		const clients = await Promise.all(Array.from({ length: 3 }, () => MulticaClient.open(server)));
		const pids = await Promise.all(clients.map(pidOf));
		await Promise.all(
			[server.close(), server.close(), server.close()].map(async (closing) => {
				await closing;
				expect(pids.filter(isAlive)).toEqual([]);
			}),
		);
		for (const client of clients) expect((await client.closed).code).toBe(1012);
		expect(server.problems).toEqual([]);
	});
});

/** A home that starts nothing until it is let. */
function gate() {
	let open = () => {};
	const opened = new Promise<void>((resolve) => {
		open = resolve;
	});
	let starts = 0;
	const home = (inner: Home): Home => ({
		...inner,
		start: async (start) => {
			starts++;
			await opened;
			return inner.start(start);
		},
	});
	return { home, open: () => open(), starts: () => starts };
}

describe("a client that leaves while its terminal is opened", () => {
	it("S18, R17, R8: leaves no shell behind", async () => {
		const { home, open, starts } = gate();
		const server = await startMultica({ home });
		const client = MulticaClient.connect(server);
		await client.auth(await server.token());
		await eventually("a start", () => starts() === 1);
		client.cut();
		await client.closed;
		open();
		await eventually("the shell to come and go", () => server.sessions.list().length === 0);
		await server.close();
		expect(server.problems).toEqual([]);
	});

	it("S7, W6: is told after the time for it, and what comes too late is ended", async () => {
		const { home, open, starts } = gate();
		const server = await startMultica({ home, times: { openMs: 50 } });
		const client = MulticaClient.connect(server);
		await client.auth(await server.token());
		expect((await client.closed).code).toBe(1013);
		expect(client.types).toEqual(["auth_ack", "terminal.error"]);
		expect(client.frames[1]?.payload).toMatchObject({ code: "open_timeout", request_id: expect.any(String) });
		expect(starts()).toBe(1);
		open();
		await server.close();
		expect(server.sessions.list()).toEqual([]);
	});

	it("M17, R8: or while the server closes, which waits for it", async () => {
		const { home, open, starts } = gate();
		const server = await startMultica({ home });
		const client = MulticaClient.connect(server);
		await client.auth(await server.token());
		await eventually("a start", () => starts() === 1);
		const closing = server.close();
		expect((await client.closed).code).toBe(1012);
		open();
		await closing;
		expect(server.sessions.list()).toEqual([]);
		expect(server.problems).toEqual([]);
	});

	it("R8: two hundred times, at any moment, with shutdown in between: no process is left", async () => {
		let left = 200;
		for (let round = 0; round < 4; round++) {
			const server = await startMultica({ graceMs: 0 });
			const token = await server.token();
			const pids = new Set<number>();
			server.sessions.watch(({ kind, session }) => {
				if (kind === "created") void session.info().then(({ pid }) => pid !== null && pids.add(pid));
			});
			const visit = async (index: number) => {
				const client = MulticaClient.connect(server);
				await client.auth(token).catch(() => {});
				if (index % 3 === 0) await client.frame("terminal.opened").catch(() => {});
				if (index % 3 === 1) await client.frame("auth_ack").catch(() => {});
				if (index % 2 === 0) client.cut();
				else client.say("terminal.close", { session_id: client.session, reason: "race" });
				await client.closed;
			};
			const visits = Array.from({ length: 50 }, (_, index) => visit(index).catch(() => {}));
			await eventually("some to be open", () => pids.size >= 10);
			await server.close();
			await Promise.all(visits);
			left -= visits.length;
			expect([...pids].filter(isAlive)).toEqual([]);
			expect(server.sessions.list().filter(({ state }) => state.status === "running")).toEqual([]);
			expect(server.problems).toEqual([]);
		}
		expect(left).toBe(0);
	});
});

describe("a client that does not read", () => {
	it("B1, W2, S9, R10: holds the program back, and gets 50 MB whole in the end", async () => {
		const server = await startMultica();
		const client = await MulticaClient.open(server);
		client.type("stty -echo -onlcr; PS1=; echo ready-$((1+1))\n");
		await client.text(/ready-2\n/);
		const whole = numberedLines(50_000_000);
		await writeFile(join(server.workDir, "large"), whole);
		client.type("exec cat large\n");
		const session = server.sessions.get(client.session) as Session;
		const { pid } = await session.info();
		for (let pause = 0; pause < 5; pause++) {
			const seen = client.frames.length;
			await client.until("more", () => client.frames.length > seen + 20);
			client.socket.pause();
			// It stands still, with all that was read on its way: far less than there is to come.
			const printed = async () => (await session.end()).offset;
			await eventually("the program to wait", () => standsStill(pid as number, printed));
			client.socket.resume();
		}
		await client.frame("terminal.exit", 100_000);
		const output = client.output();
		const at = output.indexOf(whole.subarray(0, 80));
		expect(output.subarray(at, at + whole.byteLength).equals(whole)).toBe(true);
		expect(client.types.includes("terminal.gap")).toBe(false);
	}, 120_000);

	it("S15, W4: is cut after the write deadline, and its shell waits for it", async () => {
		const server = await startMultica({ times: { writeMs: 300 } });
		const token = await server.token();
		const client = await MulticaClient.open(server, token);
		client.type("echo pid=$$.; yes hawser\n");
		const pid = Number(/pid=(\d+)\./.exec(await client.text(/pid=\d+\./))?.[1]);
		client.socket.pause();
		await eventually("the client to be cut", async () => {
			const session = server.sessions.get(client.session);
			return (await session?.info())?.attachments === 0;
		});
		expect(isAlive(pid)).toBe(true);
		client.cut();
		const again = await MulticaClient.open(server, token);
		expect(again.session).toBe(client.session);
		again.type("\u0003");
		again.type("echo back-$((1+1))\n");
		await again.text(/back-2/);
	});

	it("S16, B10: and does not answer pings either is given up", async () => {
		const server = await startMultica({ times: { pingMs: 50, deadMs: 50 } });
		const tcp = createConnection(Number(new URL(server.url).port), "127.0.0.1");
		const head = [
			`GET /ws/issues/${ISSUE}/terminal?workspace_id=${WORKSPACE} HTTP/1.1`,
			"host: localhost",
			"connection: upgrade",
		];
		const cookie = `cookie: multica_auth=${await server.token()}`;
		tcp.write(
			[
				...head,
				"upgrade: websocket",
				"sec-websocket-version: 13",
				"sec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==",
				cookie,
				"",
				"",
			].join("\r\n"),
		);
		tcp.resume();
		await once(tcp, "close");
	});
});

describe("who only looks", () => {
	it("B11: sees all that there was and comes, types nothing, sets no size, and ends nothing", async () => {
		const server = await startMultica();
		const owner = await MulticaClient.open(server);
		owner.type("echo before-$((1+1))\n");
		await owner.text(/before-2/);
		const viewer = await server.token(`workspace:${WORKSPACE}:read`);
		const looks = [
			await MulticaClient.open(server, viewer, { query: { mode: "view" } }),
			await MulticaClient.open(server, viewer, { query: { mode: "view", attach: owner.session } }),
		];
		for (const client of looks) {
			expect(client.session).toBe(owner.session);
			await client.text(/before-2/);
			client.resize(200, 50);
			client.type("echo intruder\n");
		}
		looks[0]?.say("terminal.close", { session_id: owner.session, reason: "kill it" });
		expect((await looks[0]?.closed)?.code).toBe(1000);
		owner.type("stty size; echo after-$((1+1))\n");
		const text = await looks[1]?.text(/after-2/);
		expect(text).toContain("24 80");
		expect(text).not.toContain("intruder");
		owner.type("exit 5\n");
		expect((await looks[1]?.frame("terminal.exit"))?.payload.exit_code).toBe(5);
	});

	it("B11: and is too slow is cut, and keeps nobody waiting", async () => {
		const server = await startMultica();
		const owner = await MulticaClient.open(server);
		const viewer = await MulticaClient.open(server, undefined, { query: { mode: "view" } });
		viewer.socket.pause();
		await writeFile(join(server.workDir, "large"), numberedLines(16_000_000));
		owner.type("cat large; echo end-$((1+1))\n");
		await owner.until("the end", () => owner.newest.includes("end-2"));
		viewer.socket.resume();
		expect((await viewer.closed).code).toBe(1013);
		expect(viewer.frames.at(-1)?.payload.code).toBe("limit_reached");
	});

	it("B11: is told when there is nothing to look at, or nothing for them", async () => {
		const server = await startMultica();
		const token = await server.token();
		const refused = async (query: Record<string, string>) => {
			const client = MulticaClient.connect(server, { query });
			await client.auth(token);
			const { code } = await client.closed;
			return [client.frames[1]?.payload.code, code];
		};
		expect(await refused({ mode: "view" })).toEqual(["session_not_found", 1008]);
		expect(await refused({ attach: "nowhere" })).toEqual(["session_not_found", 1008]);
	});
});

describe("who attaches to a terminal by its id", () => {
	it("B11: takes it over, and who had it is closed", async () => {
		const server = await startMultica();
		const first = await MulticaClient.open(server);
		const pid = await pidOf(first);
		const second = await MulticaClient.open(server, undefined, { query: { attach: first.session } });
		expect((await first.closed).code).toBe(4001);
		expect(await pidOf(second)).toBe(pid);
	});
});
