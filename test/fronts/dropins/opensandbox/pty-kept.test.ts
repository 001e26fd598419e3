/** PTYs in real keepers: they outlive the server, and a client that reconnects gets exactly what it missed. */

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { eventually } from "../../../support/reading.ts";
import { temporaryDirectory } from "../../../support/temporary.ts";
import { KeeperSite, startKeptExecd } from "./support/execd-server.ts";
import { createPty, handshake, PtyClient, statusOf } from "./support/pty-client.ts";

const hawser = fileURLToPath(new URL("../../../../dist/cli/main.js", import.meta.url));

test("scenario 6.1 with keepers: output, take-over, exit, a second program, and the end", async () => {
	const server = await startKeptExecd(await KeeperSite.create());
	const id = await createPty(server);
	const first = await PtyClient.open(server, id);
	first.type("kept=yes; stty size; echo fi''rst\n");
	await first.text(/24 80\r\n.*first\r\n/s);
	const second = await PtyClient.open(server, id, `takeover=1&since=${first.position}`);
	expect((await first.closed).code).toBe(4001);
	second.say({ type: "resize", cols: 120, rows: 40 });
	second.type("stty size; echo $kept''-$kept; exit 42\n");
	await second.closed;
	expect(second.output.toString()).toMatch(/40 120\r\n.*yes-yes\r\n/s);
	expect(second.messages.at(-1)).toEqual({ type: "exit", exit_code: 42 });
	const { output_offset: total, running } = await statusOf(server, id);
	expect([running, total]).toEqual([false, second.position]);

	const third = await PtyClient.open(server, id, "pty=0");
	third.type("echo third\n");
	await third.until("its output", () => third.output.includes("third\n"));
	expect(third.replay?.offset).toBe(0);
	expect(third.output.byteLength).toBe(total + 6);
	expect((await server.request(`/pty/${id}`, { method: "DELETE" })).status).toBe(200);
	expect((await third.closed).code).toBe(1000);
	expect(third.messages.at(-1)).toEqual({ type: "exit", exit_code: -1 });
	await eventually("no session", () => server.sessions.list().length === 0);
	expect(server.problems).toEqual([]);
});

test("the next server finds the record, the shell, and the bytes written while no server ran", async () => {
	const site = await KeeperSite.create();
	const directory = await temporaryDirectory();
	const server = await startKeptExecd(site);
	const id = await createPty(server, {
		command: `echo before; until [ -e ${directory}/go ]; do sleep 0.01; done; echo meanwhile; exec cat`,
	});
	const unused = await createPty(server);
	const gone = await createPty(server);
	await server.request(`/pty/${gone}`, { method: "DELETE" });
	const client = await PtyClient.open(server, id, "pty=0");
	await client.text(/before\n/);
	await server.close();
	expect((await client.closed).code).toBe(1001);
	await writeFile(join(directory, "go"), "");

	const next = await startKeptExecd(site);
	expect(await statusOf(next, unused)).toEqual({ session_id: unused, running: false, output_offset: 0 });
	expect((await next.request(`/pty/${gone}`)).status).toBe(404);
	const again = await PtyClient.open(next, id, `since=${client.position}`);
	await again.until("the missed output", () => again.output.byteLength >= 10);
	again.type("after\n");
	await again.text(/after\n/);
	expect(client.output.toString() + again.output.toString()).toBe("before\nmeanwhile\nafter\n");
});

test("a program whose keeper died counts as exited, its output is replayed, and the next program follows it", async () => {
	const site = await KeeperSite.create();
	const server = await startKeptExecd(site);
	const id = await createPty(server);
	const client = await PtyClient.open(server, id, "pty=0");
	client.type("echo lost\n");
	await client.until("its output", () => client.position === 5);
	const [session] = server.sessions.list();
	const { keeper } = await site.record(session?.id ?? "");
	process.kill(keeper.pid, "SIGKILL");
	expect((await client.closed).code).toBe(1000);
	expect(client.messages.at(-1)).toEqual({ type: "exit", exit_code: -1 });
	expect(await statusOf(server, id)).toMatchObject({ running: false });
	const next = await PtyClient.open(server, id, "pty=0");
	next.type("echo found\n");
	await next.text(/found\n/);
	expect(next.output.toString()).toMatch(/^(lost\n)?found\n$/);
	expect(next.position).toBe(5 + 6);
});

test("a client may leave while its keeper is silent, and a reconnected one gets nothing twice once it answers", async () => {
	const site = await KeeperSite.create();
	const server = await startKeptExecd(site);
	const id = await createPty(server);
	const client = await PtyClient.open(server, id, "pty=0");
	client.type("echo once\n");
	await client.text(/once\n/);
	const { keeper } = await site.record(server.sessions.list()[0]?.id ?? "");
	process.kill(keeper.pid, "SIGSTOP");
	onTestFinished(() => void process.kill(keeper.pid, "SIGCONT"));
	await client.close();
	const isFree = async () => (await handshake(server.url, `/pty/${id}/ws`, {})).status !== 409;
	await eventually("a free lock", isFree);
	const again = new PtyClient(server.url, id, `since=${client.position}`);
	await eventually("its turn", async () => !(await isFree()));
	// The server sends nothing while the keeper is silent. By the second answer the silence has outlasted the waiting
	// client's first request.
	for (let count = 0; count < 2; count++) {
		const refused = await server.request(`/pty/${id}`);
		expect([refused.status, (await refused.json()) as unknown]).toEqual([
			503,
			{ code: "RUNTIME_ERROR", message: "the session can't be reached: its keeper is not responding" },
		]);
	}
	process.kill(keeper.pid, "SIGCONT");
	await again.message("connected");
	again.type("echo twice\n");
	await again.text(/twice\n/);
	expect(again.output.toString()).toBe("twice\n");
});

test("a shell survives a server that is killed repeatedly, and every client continues where the last one was", async () => {
	const stateDir = await temporaryDirectory();
	let child: ChildProcess | undefined;
	const start = async () => {
		const args = ["execd", "--host", "127.0.0.1", "--port", "0", "--state-dir", stateDir];
		child = spawn(process.execPath, [hawser, ...args], { stdio: ["ignore", "pipe", "ignore"] });
		const [line] = (await once(createInterface({ input: child.stdout as NodeJS.ReadableStream }), "line")) as [string];
		return line.replace("listening on ", "");
	};
	const kill = async () => {
		if (!child || child.exitCode !== null || child.signalCode !== null) return;
		const ended = once(child, "exit");
		child.kill("SIGKILL");
		await ended;
	};
	onTestFinished(kill);

	let url = await start();
	const created = await fetch(`${url}/pty`, {
		method: "POST",
		// A line of input for every part, so that there is output at the moment of every kill.
		body: JSON.stringify({
			command: "for i in 1 2 3 4; do read -r go; seq 1 60000; done; read -r end; exit 9",
		}),
	});
	const { session_id: id } = (await created.json()) as { session_id: string };
	const part = Array.from({ length: 60_000 }, (_, index) => `${index + 1}\n`).join("");
	const parts: Buffer[] = [];
	let since = 0;
	try {
		for (let kills = 0; kills < 4; kills++) {
			const client = await PtyClient.open({ url }, id, `pty=0&since=${since}&takeover=1`);
			client.type("go\n");
			await client.until("the middle of its part", () => client.position >= (kills + 0.3) * part.length);
			await kill();
			await client.closed;
			parts.push(client.output);
			since = client.position;
			url = await start();
		}
		const last = await PtyClient.open({ url }, id, `since=${since}`);
		last.type("end\n");
		await last.closed;
		parts.push(last.output);
		expect(last.messages.at(-1)).toEqual({ type: "exit", exit_code: 9 });
		expect(Buffer.concat(parts).toString() === part.repeat(4)).toBe(true);
	} finally {
		await fetch(`${url}/pty/${id}`, { method: "DELETE" });
		await eventually("no session left", async () => (await readdir(join(stateDir, "sessions"))).length === 0);
		await kill();
	}
}, 60_000);
