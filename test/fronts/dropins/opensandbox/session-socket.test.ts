/** `/ws/session/:id`: the long-lived shell of a bash session, beside its runs. */

import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { eventually } from "../../../support/reading.ts";
import { temporaryDirectory } from "../../../support/temporary.ts";
import { type ExecdServer, gatedHome, startExecd } from "./support/execd-server.ts";
import { handshake, PtyClient, upgradeHeaders } from "./support/pty-client.ts";

async function createSession(server: ExecdServer, body: object = {}): Promise<string> {
	return ((await (await server.post("/session", body)).json()) as { session_id: string }).session_id;
}

function connect(server: ExecdServer, id: string, query = ""): PtyClient {
	return new PtyClient(server.url, id, query, { path: `/ws/session/${id}` });
}

async function open(server: ExecdServer, id: string, query = ""): Promise<PtyClient> {
	const client = connect(server, id, query);
	await client.message("connected");
	return client;
}

/** The next connection once the clean-up of the last one is over. */
function reopen(server: ExecdServer, id: string, query = ""): Promise<PtyClient> {
	return eventually("a free lock", () => open(server, id, query).catch(() => undefined));
}

function textOf(client: PtyClient, type = "stdout"): string {
	return client.messages.flatMap((one) => (one.type === type ? [String(one.data)] : [])).join("");
}

function until(client: PtyClient, pattern: RegExp): Promise<string> {
	return client.until(String(pattern), () => {
		const text = textOf(client);
		return pattern.test(text) && text;
	});
}

const type = (client: PtyClient, data: string) => client.say({ type: "stdin", data });

async function statusOf(server: ExecdServer, id: string) {
	return (await (await server.request(`/session/${id}`)).json()) as { running: boolean; output_offset: number };
}

async function run(server: ExecdServer, id: string, command: string): Promise<string> {
	return (await server.post(`/session/${id}/run`, { command })).text();
}

test("3.6, I-33: an unknown session is 404, a taken one 409, and an incomplete handshake leaves the lock free", async () => {
	const server = await startExecd();
	const id = await createSession(server);
	const unknown = await handshake(server.url, "/ws/session/unknown");
	expect([unknown.status, JSON.parse(unknown.body)]).toMatchObject([404, { code: "CONTEXT_NOT_FOUND" }]);
	expect((await handshake(server.url, `/ws/session/${id}`, {})).status).toBe(400);
	const badKey = { ...upgradeHeaders, "sec-websocket-key": "bad" };
	expect((await handshake(server.url, `/ws/session/${id}`, badKey)).status).toBe(400);
	const client = await open(server, id);
	for (const query of ["", "?takeover=1"]) {
		const taken = await handshake(server.url, `/ws/session/${id}${query}`);
		expect([taken.status, JSON.parse(taken.body)]).toEqual([
			409,
			{ code: "RUNTIME_ERROR", message: "session already connected" },
		]);
	}
	type(client, "echo still here\n");
	await until(client, /still here\n/);
});

test("3.6: the default is pipes with two channels, text frames with a time, exit and close", async () => {
	const server = await startExecd();
	const id = await createSession(server);
	expect(await statusOf(server, id)).toMatchObject({ running: false, output_offset: 0 });
	const client = await open(server, id);
	expect(client.messages[0]).toEqual({ type: "connected", session_id: id, mode: "pipe" });
	expect((await statusOf(server, id)).running).toBe(true);
	type(client, "echo out; echo err >&2\n");
	await client.until("both", () => textOf(client) === "out\n" && textOf(client, "stderr") === "err\n");
	expect(client.messages.find(({ type }) => type === "stdout")?.timestamp).toBeGreaterThan(Date.now() - 60_000);
	client.say({ type: "ping" });
	client.say({ type: "nonsense" });
	expect(await client.message("pong")).toEqual({ type: "pong" });
	expect(await client.message("error")).toMatchObject({ code: "INVALID_FRAME" });
	type(client, "exit 12\n");
	expect(await client.closed).toEqual({ code: 1000, reason: "process exited" });
	expect(client.messages.at(-1)).toEqual({ type: "exit", exit_code: 12 });
	expect(await statusOf(server, id)).toMatchObject({ running: false, output_offset: 8 });
	const next = await reopen(server, id);
	type(next, "echo again\n");
	await until(next, /^again\n/);
});

test.each(["SIGINT", "SIGQUIT", "SIGTERM"])(
	"on pipes %s ends what the shell runs, also a loop, and the shell takes the next line",
	async (signal) => {
		const server = await startExecd();
		const client = await open(server, await createSession(server));
		// Printed by the program to be ended, as proof that it runs.
		type(client, "kept=value; sh -c 'echo first; exec sleep 1000'\n");
		await until(client, /first/);
		client.say({ type: "signal", signal });
		type(client, "echo $?-$kept; while :; do sh -c 'echo loop; exec sleep 1000'; done\n");
		await until(client, /^(130|131|143)-value\nloop\n$/m);
		client.say({ type: "signal", signal });
		type(client, "echo third; exit 7\n");
		await until(client, /third/);
		expect(await client.message("exit")).toMatchObject({ exit_code: 7 });
		expect(textOf(client, "stderr")).not.toMatch(/break|trap/);
	},
);

test("on pipes SIGHUP and SIGKILL end the shell", async () => {
	const server = await startExecd();
	for (const signal of ["SIGHUP", "SIGKILL"]) {
		const client = await open(server, await createSession(server));
		type(client, "echo ready; sleep 1000\n");
		await until(client, /ready/);
		client.say({ type: "signal", signal });
		expect(await client.message("exit")).toMatchObject({ exit_code: -1 });
	}
});

test("3.6: pty=1 is a terminal of 80 by 24 that can be resized, and signals reach it", async () => {
	const server = await startExecd();
	const id = await createSession(server, { cwd: await temporaryDirectory() });
	const client = await open(server, id, "pty=1");
	expect(client.messages[0]).toMatchObject({ mode: "pty" });
	type(client, "echo $TERM-$COLUMNS-$LINES $(stty size)\n");
	await until(client, /xterm-256color-80-24 24 80\r\n/);
	client.say({ type: "resize", cols: 100, rows: 50 });
	type(client, "stty size; bash -c 'echo rea\"\"dy; exec sleep 1000'\n");
	await until(client, /50 100\r\n.*ready\r\n/s);
	client.say({ type: "signal", signal: "SIGINT" });
	await until(client, /ready\r\n.*[#$] $/s);
	type(client, "echo do''ne\n");
	await until(client, /done\r\n/);
});

test("3.6: a message that is not JSON ends the connection, not the shell", async () => {
	const server = await startExecd();
	const id = await createSession(server);
	const client = await open(server, id);
	client.socket.send("no json");
	expect((await client.closed).code).toBe(1008);
	expect((await statusOf(server, id)).running).toBe(true);
	type(await reopen(server, id), "exit\n");
});

test("3.6, I-14: since requests the past in a message with the next offset; without it none is sent", async () => {
	const server = await startExecd();
	const id = await createSession(server);
	const client = await open(server, id);
	type(client, "echo first; read x; echo meanwhile\n");
	await until(client, /first\n/);
	type(client, "\n");
	await client.close();
	await eventually("its output", async () => (await statusOf(server, id)).output_offset === 16);
	const silent = await reopen(server, id);
	expect(silent.messages.map(({ type }) => type)).toEqual(["connected"]);
	await silent.close();
	const late = await reopen(server, id, "since=6");
	expect(late.messages[0]).toEqual({ type: "replay", data: "meanwhile\n", offset: 16 });
	expect(late.messages[1]?.type).toBe("connected");
	await late.close();
	const beyond = await reopen(server, id, "since=16");
	expect(beyond.messages.map(({ type }) => type)).toEqual(["connected"]);
});

test("I-02: the shell and the runs are separate, and their output shares one ring", async () => {
	const server = await startExecd();
	const id = await createSession(server, { cwd: "/tmp" });
	const client = await open(server, id);
	type(client, "export MINE=shell; cd /; pwd\n");
	await until(client, /^\/\n/);
	expect(await run(server, id, 'export MINE=run; echo "run: $MINE $PWD"')).toContain("run: run /tmp");
	// The end of a run does not affect the shell.
	expect((await statusOf(server, id)).running).toBe(true);
	await until(client, /run: run \/tmp\n/);
	type(client, 'echo "shell: $MINE $PWD"\n');
	await until(client, /shell: shell \/\n/);
	expect(await run(server, id, 'echo "again: $MINE"')).toContain("again: run");
	await until(client, /again: run\n/);
	expect((await statusOf(server, id)).output_offset).toBe(Buffer.byteLength(textOf(client)));
});

test("I-15, I-16, I-17: reconnects in the middle of the output lose and repeat nothing, and split no character", async () => {
	const server = await startExecd();
	const id = await createSession(server);
	const first = await open(server, id);
	type(first, "for i in $(seq 1 40); do read -r x; for j in $(seq 1 200); do echo grüße-$i-$j; done; done\n");
	await first.close();
	const whole = Array.from({ length: 40 * 200 }, (_, n) => `grüße-${Math.floor(n / 200) + 1}-${(n % 200) + 1}\n`).join(
		"",
	);
	let got = "";
	for (let part = 1; part <= 41; part++) {
		const client = await reopen(server, id, `since=${Buffer.byteLength(got)}`);
		const text = () => textOf(client, "replay") + textOf(client);
		if (part <= 40) type(client, "\n");
		// In the middle of a part, and finally at the end.
		const enough = part <= 40 ? (137 * part) % 2000 : whole.length - got.length;
		await client.until("some output", () => text().length >= enough);
		client.cut();
		got += text();
	}
	expect(got === whole).toBe(true);
});

test("2.16: a burst of 20 MB passes completely, because the shell waits for a slow client for a while", async () => {
	const server = await startExecd();
	const id = await createSession(server);
	const client = await open(server, id);
	client.socket.pause();
	type(client, "head -c 20000000 /dev/zero | tr '\\0' x; exit\n");
	// Until a good part of the capacity between shell and client is filled.
	let printed = -1;
	await eventually("a standstill", async () => {
		const before = printed;
		printed = (await statusOf(server, id)).output_offset;
		return printed > 0 && printed === before;
	});
	client.socket.resume();
	expect((await client.closed).code).toBe(1000);
	expect(textOf(client).length).toBe(20_000_000);
});

test("I-24, I-42: a client that never reads is dropped, and the shell continues", async () => {
	const server = await startExecd({ times: { sessionWriteMs: 1500 } });
	const id = await createSession(server);
	const client = await open(server, id);
	client.socket.pause();
	type(client, "head -c 20000000 /dev/zero | tr '\\0' x; touch_me=1; echo; echo end\n");
	// The shell prints everything only after the server stops waiting for the client.
	await eventually("all of it", async () => (await statusOf(server, id)).output_offset > 20_000_000);
	const next = await reopen(server, id);
	type(next, "echo go''ne $touch_me\n");
	await until(next, /gone 1\n/);
	client.cut();
});

test("I-28: the lock is free after a client that vanished, in every phase", async () => {
	const server = await startExecd();
	const id = await createSession(server);
	for (let count = 0; count < 20; count++) {
		const client = connect(server, id, "since=0");
		client.socket.on("upgrade", () => {
			if (count % 2 === 0) client.cut();
		});
		await Promise.race([client.closed, client.message("connected").catch(() => undefined)]);
		client.cut();
		await eventually("a free lock", async () => (await handshake(server.url, `/ws/session/${id}`)).status === 101);
	}
	expect(server.sessions.list()).toHaveLength(1);
	expect(server.problems).toEqual([]);
});

test("3.2, I-01, I-06: DELETE ends the shell and all its children, and informs its client", async () => {
	const server = await startExecd();
	const id = await createSession(server);
	const client = await open(server, id);
	type(client, "(trap '' TERM HUP; exec sleep 1006) & echo pid $!\n");
	const [, pid] = /pid (\d+)\n/.exec(await until(client, /pid \d+\n/)) as RegExpExecArray;
	expect((await server.request(`/session/${id}`, { method: "DELETE" })).status).toBe(200);
	expect((await client.closed).code).toBe(1000);
	expect(client.messages.at(-1)).toEqual({ type: "exit", exit_code: -1 });
	const stat = await readFile(`/proc/${pid}/stat`, "latin1").catch(() => "");
	expect(stat === "" || /\) [ZX]/.test(stat)).toBe(true);
	expect((await handshake(server.url, `/ws/session/${id}`)).status).toBe(404);
	expect(server.sessions.list()).toEqual([]);
});

test("I-01: a shell started during the delete of its session does not survive", async () => {
	const { home, open: openGate } = gatedHome();
	const server = await startExecd({ transient: home });
	const id = await createSession(server);
	const client = connect(server, id);
	await eventually("a start under way", async () => (await handshake(server.url, `/ws/session/${id}`)).status === 409);
	const deleted = server.request(`/session/${id}`, { method: "DELETE" });
	await eventually("the session's removal", async () => (await server.request(`/session/${id}`)).status === 404);
	openGate();
	expect((await deleted).status).toBe(200);
	expect((await client.closed).code).toBe(1006);
	expect(client.messages).toMatchObject([{ type: "error", code: "START_FAILED" }]);
	expect(server.sessions.list()).toEqual([]);
	expect(server.problems).toEqual([]);
});
