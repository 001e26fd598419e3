/** The end of a PTY at any moment: nothing of it remains, and no client is left waiting. */

import { rm } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { JsonFile } from "../../../../src/disk/json-file.ts";
import { isAlive } from "../../../support/alive.ts";
import { eventually } from "../../../support/reading.ts";
import { fill, withSmallDisk } from "../../../support/small-disk.ts";
import { gatedHome, startExecd } from "./support/execd-server.ts";
import { createPty, handshake, PtyClient } from "./support/pty-client.ts";

test("2.4: on delete an attached holder sees exit -1 and a normal close, and later clients see nothing", async () => {
	const server = await startExecd();
	const id = await createPty(server);
	const client = await PtyClient.open(server, id);
	expect((await server.request(`/pty/${id}`, { method: "DELETE" })).status).toBe(200);
	expect(await client.closed).toEqual({ code: 1000, reason: "process exited" });
	expect(client.messages.at(-1)).toEqual({ type: "exit", exit_code: -1 });
	expect((await handshake(server.url, `/pty/${id}/ws`)).status).toBe(404);
	await eventually("the session's removal", () => server.sessions.list().length === 0);
});

test("6.2, I-06: delete reaches jobs in their own groups, and those that ignore signals", async () => {
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

test("2.4: of two concurrent deletes one succeeds", async () => {
	const server = await startExecd();
	const id = await createPty(server);
	const client = await PtyClient.open(server, id);
	const answers = await Promise.all([0, 1, 2].map(() => server.request(`/pty/${id}`, { method: "DELETE" })));
	expect(answers.map(({ status }) => status).sort()).toEqual([200, 404, 404]);
	await client.closed;
	expect(client.messages.filter(({ type }) => type === "exit")).toHaveLength(1);
	expect(server.problems).toEqual([]);
});

test("a delete that could not be stored can be repeated, and the PTY starts no program meanwhile", async () => {
	await withSmallDisk(256 * 1024, async (directory) => {
		const records = new JsonFile(join(directory, "opensandbox.json"));
		const server = await startExecd({ records });
		const id = await createPty(server);
		const client = await PtyClient.open(server, id);
		const filler = await fill(directory);
		const refused = await server.request(`/pty/${id}`, { method: "DELETE" });
		expect(refused.status).toBe(429);
		expect(await refused.json()).toMatchObject({ message: expect.stringContaining("disk is full") });
		await client.closed;
		await eventually("the session's removal", () => server.sessions.list().length === 0);
		const again = new PtyClient(server.url, id);
		await again.closed;
		expect(server.sessions.list()).toEqual([]);

		await rm(filler);
		expect((await server.request(`/pty/${id}`, { method: "DELETE" })).status).toBe(200);
		expect(await records.read()).toMatchObject({ ptys: [] });
		expect((await server.request(`/pty/${id}`, { method: "DELETE" })).status).toBe(404);
		expect(server.problems).toEqual([]);
	});
});

test("I-01: a program started during the delete of its PTY does not survive", async () => {
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
