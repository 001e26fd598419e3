/** Read-only viewers of a PTY, their rights, and closes by the server. */

import { expect, test } from "vitest";
import { SessionError } from "../../../../src/core/errors.ts";
import type { Principal } from "../../../../src/core/policy/access.ts";
import { principalWith } from "../../../support/native-server.ts";
import { eventually } from "../../../support/reading.ts";
import { startExecd } from "./support/execd-server.ts";
import { createPty, handshake, PtyClient, statusOf, upgradeHeaders } from "./support/pty-client.ts";

test("9: viewers see all output with offsets, beside the holder and across a take-over, up to the exit", async () => {
	const server = await startExecd();
	const id = await createPty(server, { command: "printf past; while read -r line; do echo $line; done; exit 4" });
	const holder = await PtyClient.open(server, id, "pty=0");
	await holder.until("the past", () => holder.position === 4);
	const viewers = [
		await PtyClient.open(server, id, "mode=viewer"),
		await PtyClient.open(server, id, "mode=viewer&since=2"),
	];
	expect(viewers[0]?.messages[0]).toEqual({ type: "connected", session_id: id, mode: "pipe", role: "viewer" });
	holder.type("one\n");
	await holder.until("one", () => holder.position === 8);
	const next = await PtyClient.open(server, id, "takeover=1");
	next.type("two\n\u0004");
	await next.until("two", () => next.output.includes("two\n"));
	next.say({ type: "signal", signal: "SIGKILL" });
	for (const [index, viewer] of viewers.entries()) {
		expect((await viewer.closed).code).toBe(1000);
		expect(viewer.output.toString()).toBe("pastone\ntwo\n".slice(2 * index));
		expect(viewer.messages.at(-1)).toEqual({ type: "exit", exit_code: -1 });
		const frames = viewer.received.filter(({ kind }) => kind !== "message");
		expect(frames.every(({ kind }) => kind === "replay")).toBe(true);
		let position = 2 * index;
		for (const frame of frames) {
			if (frame.kind !== "replay") continue;
			expect(frame.offset).toBe(position);
			position += frame.bytes.byteLength;
		}
	}
});

test("9: a PTY without a running program can't be viewed", async () => {
	const server = await startExecd();
	const id = await createPty(server);
	const refused = await handshake(server.url, `/pty/${id}/ws?mode=viewer`);
	expect([refused.status, (JSON.parse(refused.body) as { code: string }).code]).toEqual([
		409,
		"VIEWER_REQUIRES_RUNNING_SESSION",
	]);
	expect((await statusOf(server, id)).running).toBe(false);
});

test("a viewer of a program whose keeper does not answer is disconnected, without an internal error", async () => {
	const server = await startExecd();
	const id = await createPty(server);
	await PtyClient.open(server, id);
	const [session] = server.sessions.list();
	if (!session) throw new Error("no session");
	session.end = async () => {
		throw new SessionError("node_unavailable", "its keeper did not answer");
	};
	const viewer = new PtyClient(server.url, id, "mode=viewer");
	expect(await viewer.closed).toMatchObject({ code: 1001, reason: "its keeper did not answer" });
	expect(server.problems).toEqual([]);
});

test("9: a viewer may ping and not act, and its fifth attempt disconnects it", async () => {
	const server = await startExecd();
	const id = await createPty(server);
	const holder = await PtyClient.open(server, id);
	const viewer = await PtyClient.open(server, id, "mode=viewer");
	viewer.say({ type: "ping" });
	await viewer.message("pong");
	viewer.type("echo in''truder\n");
	viewer.say({ type: "resize", cols: 20, rows: 20 });
	viewer.say({ type: "signal", signal: "SIGKILL" });
	viewer.say({ type: "stdin", data: "exit\n" });
	viewer.type("exit\n");
	await viewer.closed;
	expect(viewer.messages.filter(({ code }) => code === "READ_ONLY")).toHaveLength(5);
	holder.type("stty size; echo un''harmed\n");
	expect(await holder.text(/unharmed/)).toMatch(/24 80/);
	expect(holder.output.includes("intruder")).toBe(false);
});

test("9: a viewer that never reads does not slow the holder, and sees its gap afterwards", async () => {
	const server = await startExecd();
	const id = await createPty(server, { command: "read x; head -c 20000000 /dev/zero; exec cat" });
	const holder = await PtyClient.open(server, id, "pty=0");
	const viewer = await PtyClient.open(server, id, "mode=viewer");
	viewer.socket.pause();
	holder.type("\n");
	await holder.until("everything", () => holder.position === 20_000_000);
	viewer.socket.resume();
	await viewer.until("the end", () => viewer.position === 20_000_000);
	expect(viewer.output.byteLength).toBeLessThan(20_000_000);
});

test("viewers count against the limit on attachments", async () => {
	const server = await startExecd({ maxAttachments: 3 });
	const id = await createPty(server);
	await PtyClient.open(server, id);
	for (let viewers = 0; viewers < 3; viewers++) await PtyClient.open(server, id, "mode=viewer");
	expect((await handshake(server.url, `/pty/${id}/ws?mode=viewer`)).status).toBe(429);
});

test("rights: readers may view and not hold, operators may not create or delete, and others see nothing", async () => {
	const revoked = new AbortController();
	let wait = 0;
	const callers: Record<string, Principal> = {
		reader: principalWith(["read"]),
		operator: principalWith(["read", "operate"], { revoked: revoked.signal }),
		manager: principalWith(["read", "operate", "manage"], { countCreation: () => wait }),
		stranger: principalWith([]),
	};
	const server = await startExecd({
		authorize: ({ credential }) => {
			const caller = callers[credential ?? ""];
			if (!caller) throw new SessionError("unauthenticated", "who are you");
			return caller;
		},
	});
	const as = (name: string) => ({ headers: { "x-execd-access-token": name } });
	expect((await server.request("/pty", { method: "POST", ...as("operator") })).status).toBe(403);
	const { session_id: id } = (await (await server.request("/pty", { method: "POST", ...as("manager") })).json()) as {
		session_id: string;
	};
	const ask = async (name: string, query = "") =>
		(await handshake(server.url, `/pty/${id}/ws${query}`, { ...upgradeHeaders, ...as(name).headers })).status;

	expect((await server.request(`/pty/${id}`, as("stranger"))).status).toBe(404);
	expect(await ask("stranger")).toBe(404);
	expect(await ask("reader")).toBe(403);
	// Its program does not run yet.
	expect(await ask("operator")).toBe(403);
	expect(server.sessions.list()).toEqual([]);
	expect((await server.request(`/pty/${id}`, { method: "DELETE", ...as("operator") })).status).toBe(403);

	// A caller above the rate limit is refused like any other failed start.
	wait = 500;
	const hasty = new PtyClient(server.url, id, "", as("manager"));
	expect((await hasty.closed).code).toBe(1006);
	expect(hasty.messages).toMatchObject([{ type: "error", code: "START_FAILED" }]);
	wait = 0;
	const starter = await PtyClient.open(server, id, "", as("manager"));
	await starter.close();
	const holder = await PtyClient.open(server, id, "", as("operator"));
	const viewer = await PtyClient.open(server, id, "mode=viewer", as("reader"));
	revoked.abort();
	expect((await holder.closed).code).toBe(1001);
	expect((await server.request(`/pty/${id}`, { method: "DELETE", ...as("manager") })).status).toBe(200);
	expect((await viewer.closed).code).toBe(1000);
});

test("2.11, I-42: a client that answers no ping is dropped, one that does is not, and the lock is free", async () => {
	const server = await startExecd({ times: { pingMs: 20, deadMs: 400 } });
	const id = await createPty(server);
	const silent = await PtyClient.open(server, id);
	let pings = 0;
	silent.socket.on("ping", () => pings++);
	silent.socket.pong = () => {};
	const second = await createPty(server);
	const alive = await PtyClient.open(server, second);
	expect((await silent.closed).code).toBe(1006);
	expect(pings).toBeGreaterThan(0);
	expect(alive.socket.readyState).toBe(1);
	const next = await eventually("a free lock", () => PtyClient.open(server, id).catch(() => undefined));
	next.type("echo st''ill\n");
	await next.text(/still/);
});

test("a closing server informs all clients", async () => {
	const server = await startExecd();
	const id = await createPty(server);
	const holder = await PtyClient.open(server, id);
	const viewer = await PtyClient.open(server, id, "mode=viewer");
	const closing = server.close();
	expect((await holder.closed).code).toBe(1001);
	expect((await viewer.closed).code).toBe(1001);
	await closing;
});
