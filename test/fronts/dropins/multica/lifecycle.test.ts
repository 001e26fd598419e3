/** The life of a terminal after its client, its keeper or its server has gone. */

import { describe, expect, it } from "vitest";
import { isAlive } from "../../../support/alive.ts";
import { FakeClock } from "../../../support/fake-clock.ts";
import { KeeperSite } from "../../../support/keeper-site.ts";
import { eventually } from "../../../support/reading.ts";
import { temporaryDirectory } from "../../../support/temporary.ts";
import { MulticaClient } from "./support/multica-client.ts";
import { putTask, startMultica, WORKSPACE } from "./support/multica-server.ts";

describe("a client that returns within the grace time", () => {
	it("B2: a returning client finds its shell under the same session id with the output it missed, however it left", async () => {
		const server = await startMultica();
		const token = await server.token();
		const leaving: ((client: MulticaClient) => void)[] = [
			(client) => client.cut(),
			(client) => client.socket.close(),
			(client) => client.say("terminal.close", { session_id: client.session, reason: "panel_unmount" }),
			(client) => client.say("terminal.close", { session_id: client.session, reason: "client_detach" }),
		];
		const first = await MulticaClient.open(server, token);
		const pid = await first.pid();
		let client = first;
		for (const [index, leave] of leaving.entries()) {
			client.type(`sleep 0.2; echo later-${index}-$((1+1))\n`);
			leave(client);
			await client.closed;
			client = await MulticaClient.open(server, token);
			expect(client.session).toBe(first.session);
			expect(client.frames[1]?.payload.resumed).toBe(true);
			await client.text(new RegExp(`pid=${pid}\\.[^]*later-${index}-2`));
			expect(await client.pid()).toBe(pid);
		}
		expect(server.running().length).toBe(1);
	});

	it("B2: a returning client can resume at an exact byte", async () => {
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

	it("B2: of a long past a returning client gets the newest part, from the start of a line", async () => {
		const server = await startMultica();
		const token = await server.token();
		const first = await MulticaClient.open(server, token);
		// With the prompt that follows, which makes the past longer.
		first.type("PS1='prompt> '; for i in $(seq 1 60000); do echo line-$i; done; echo end-$((1+1))\n");
		await first.text(/end-2\r\n[\s\S]*prompt> $/);
		first.cut();
		await first.closed;
		const again = await MulticaClient.open(server, token);
		const text = await again.text(/end-2/);
		expect(text).toMatch(/^line-\d+\r\n/);
		expect(text.length).toBeLessThanOrEqual(256 * 1024);
		expect(text.length).toBeGreaterThan(200 * 1024);
	});

	it("B2: a shell returns only to the same user in the same workspace at the same task", async () => {
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

	it("B2: a returning user must still have the right to type", async () => {
		const server = await startMultica();
		const jwt = (right: string) => server.jwt({ sub: "eve", workspaces: { [WORKSPACE]: right } });
		const first = await MulticaClient.open(server, jwt("manage"));
		first.cut();
		await first.closed;
		const again = MulticaClient.connect(server);
		await again.auth(jwt("read"));
		expect((await again.frame("terminal.error")).payload.code).toBe("forbidden");
		expect((await MulticaClient.open(server, jwt("manage"))).session).toBe(first.session);
	});

	it("B2: a shell does not return to a user of another issuer with the same name", async () => {
		const server = await startMultica();
		const mine = await MulticaClient.open(server, server.adminToken);
		mine.socket.terminate();
		await mine.closed;
		const claims = { sub: "admin", workspaces: { [WORKSPACE]: "manage" } };
		const theirs = await MulticaClient.open(server, server.jwt(claims));
		expect((await theirs.frame("terminal.opened")).payload).not.toHaveProperty("resumed");
		const again = await MulticaClient.open(server, server.adminToken);
		expect((await again.frame("terminal.opened")).payload).toMatchObject({ resumed: true });
	});

	it("1.12: a shell in use is not returned: each connection has its own", async () => {
		const server = await startMultica();
		const token = await server.token();
		const [first, second] = [await MulticaClient.open(server, token), await MulticaClient.open(server, token)];
		expect(first.session).not.toBe(second.session);
	});

	it("B2: a client that returns too late gets a new shell", async () => {
		const clock = new FakeClock();
		const server = await startMultica({ graceMs: 5_000, clock });
		const token = await server.token();
		const first = await MulticaClient.open(server, token);
		const pid = await first.pid();
		first.cut();
		await eventually("the wait to begin", () => clock.pending === 1);
		clock.advance(4_999);
		expect(isAlive(pid)).toBe(true);
		clock.advance(1);
		await eventually("the shell to end", () => !isAlive(pid));
		expect((await MulticaClient.open(server, token)).session).not.toBe(first.session);
	});

	it("B19: a shell in a keeper returns from the next server", async () => {
		const site = await KeeperSite.create();
		const directory = await temporaryDirectory();
		const before = await site.open();
		const server = await startMultica({ durable: before.keepers, directory });
		const { workDir } = server;
		const jwt = server.jwt({ sub: "dora", workspaces: { [WORKSPACE]: "manage" } });
		const first = await MulticaClient.open(server, jwt);
		const pid = await first.pid();
		await server.close();
		expect((await first.closed).code).toBe(1012);
		await before.keepers.close();

		const clock = new FakeClock();
		const { keepers, adopted } = await site.open();
		const next = await startMultica({ durable: keepers, adopted, directory, clock, graceMs: 5_000 });
		await putTask(next, "bbbbbbbb-2222-4333-8444-000000000001", { workDir });
		const again = await MulticaClient.open(next, jwt);
		expect(again.session).toBe(first.session);
		expect(await again.pid()).toBe(pid);
		again.cut();
		await eventually("the wait to begin", () => clock.pending === 1);
		clock.advance(5_000);
		await eventually("the shell to end", () => !isAlive(pid));
		await next.close();
		await keepers.close();
	});
});

describe("a keeper that dies", () => {
	it("S17, W5, B3: the death of a keeper is reported to the client at once, as an exit and a close", async () => {
		const site = await KeeperSite.create();
		const { keepers } = await site.open();
		const server = await startMultica({ durable: keepers });
		const client = await MulticaClient.open(server);
		await client.pid();
		process.kill((await site.record(client.session)).keeper.pid, "SIGKILL");
		const { payload } = await client.frame("terminal.exit");
		expect(payload).toMatchObject({ exit_code: -1, reason: "daemon_disconnected" });
		expect((await client.closed).code).toBe(1011);
		await server.close();
		await keepers.close();
	});
});

describe("without a grace time", () => {
	it("B2, 1.12: disconnecting ends the shell, as Multica promises", async () => {
		const server = await startMultica({ graceMs: 0 });
		for (const leave of [(client: MulticaClient) => client.cut(), (client: MulticaClient) => client.socket.close()]) {
			const client = await MulticaClient.open(server);
			const pid = await client.pid();
			leave(client);
			await eventually("the shell to end", () => !isAlive(pid));
		}
		await eventually("the last to have ended", () => server.running().length === 0);
	});

	it("S23, R3: twenty terminals closed together end in about one grace period, although none exits willingly", async () => {
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

	it("R6, R7, M11, M16, M18: closing the server resolves only once every shell is gone, for all of its callers", async () => {
		const server = await startMultica({ graceMs: 0 });
		const clients = await Promise.all(Array.from({ length: 3 }, () => MulticaClient.open(server)));
		const pids = await Promise.all(clients.map((client) => client.pid()));
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
