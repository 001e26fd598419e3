/** The end of a PTY, at any moment: nothing of it stays, and nobody is left waiting. */

import { expect, test } from "vitest";
import { isAlive } from "../../helpers/alive.ts";
import { eventually } from "../../helpers/reading.ts";
import { gatedHome, startExecd } from "./execd-server.ts";
import { createPty, handshake, PtyClient } from "./pty-client.ts";

test("2.4: an attached holder sees exit -1 and a normal close, and what comes later sees nothing", async () => {
	const server = await startExecd();
	const id = await createPty(server);
	const client = await PtyClient.open(server, id);
	expect((await server.request(`/pty/${id}`, { method: "DELETE" })).status).toBe(200);
	expect(await client.closed).toEqual({ code: 1000, reason: "process exited" });
	expect(client.messages.at(-1)).toEqual({ type: "exit", exit_code: -1 });
	expect((await handshake(server.url, `/pty/${id}/ws`)).status).toBe(404);
	await eventually("a session that is forgotten", () => server.sessions.list().length === 0);
});

test("6.2, I-06: the end reaches jobs in groups of their own, and those that ignore what they can", async () => {
	const server = await startExecd();
	const id = await createPty(server);
	const client = await PtyClient.open(server, id);
	client.type(
		"trap '' HUP TERM INT; sleep 1001 & sleep 1002 & (setsid sleep 1003 &) ; echo pi''ds $(jobs -p) $$ do''ne\n",
	);
	const [, ...pids] = /pids (\d+) (\d+) (\d+) done/.exec(
		(await client.text(/pids .* done/s)).replace(/\r?\n/g, " "),
	) as RegExpExecArray;
	expect(pids).toHaveLength(3);
	await server.request(`/pty/${id}`, { method: "DELETE" });
	await client.closed;
	for (const pid of pids) await eventually(`the end of ${pid}`, async () => !isAlive(Number(pid)));
});

test("2.4: two deletes at once, and one of them did it", async () => {
	const server = await startExecd();
	const id = await createPty(server);
	const client = await PtyClient.open(server, id);
	const answers = await Promise.all([0, 1, 2].map(() => server.request(`/pty/${id}`, { method: "DELETE" })));
	expect(answers.map(({ status }) => status).sort()).toEqual([200, 404, 404]);
	await client.closed;
	expect(client.messages.filter(({ type }) => type === "exit")).toHaveLength(1);
	expect(server.problems).toEqual([]);
});

test("I-01: a program that is being started while its PTY is deleted does not stay", async () => {
	const { home, open } = gatedHome();
	const server = await startExecd({ durable: home });
	const id = await createPty(server, { command: "exec sleep 1004" });
	const client = new PtyClient(server.url, id);
	await eventually("a start under way", async () => (await handshake(server.url, `/pty/${id}/ws`)).status === 409);
	expect((await server.request(`/pty/${id}`, { method: "DELETE" })).status).toBe(200);
	open();
	expect((await client.closed).code).toBe(1006);
	expect(client.messages).toMatchObject([{ type: "error", code: "START_FAILED" }]);
	await eventually("no session", () => server.sessions.list().length === 0);
	expect(server.problems).toEqual([]);
});

test("I-01: deletes and connects in any order leave nothing behind", async () => {
	const server = await startExecd();
	for (let count = 0; count < 30; count++) {
		const id = await createPty(server, { command: "exec sleep 1005" });
		const client = new PtyClient(server.url, id);
		if (count % 3 === 1) await new Promise((resolve) => client.socket.once("upgrade", resolve));
		if (count % 3 === 2) await client.message("connected");
		await server.request(`/pty/${id}`, { method: "DELETE" });
		await client.closed;
	}
	await eventually("no session", () => server.sessions.list().length === 0);
	expect(server.problems).toEqual([]);
});
