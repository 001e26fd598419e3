/** Clients that leave while their terminal is being opened. */

import { describe, expect, it } from "vitest";
import type { SessionProvider } from "../../../../src/core/session/session-registry.ts";
import { isAlive } from "../../../support/alive.ts";
import { eventually } from "../../../support/reading.ts";
import { MulticaClient } from "./support/multica-client.ts";
import { startMultica } from "./support/multica-server.ts";

/** A session host that starts nothing until the gate opens. */
function gate() {
	let open = () => {};
	const opened = new Promise<void>((resolve) => {
		open = resolve;
	});
	let starts = 0;
	const home = (inner: SessionProvider): SessionProvider => ({
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
	it("S18, R17, R8: a client that leaves during the start leaves no shell behind", async () => {
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

	it("S7, W6: the client gets an error after the timeout, and a late shell is ended", async () => {
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

	it("M17, R8: a closing server waits for a shell that is being opened", async () => {
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

	it("R8: two hundred opens at random moments with shutdowns in between leave no process", async () => {
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
