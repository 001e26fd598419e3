/** A holder's actions on its program: complete, in order, with errors reported. */

import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import { eventually } from "../../../support/reading.ts";
import { type ExecdServer, startExecd } from "./support/execd-server.ts";
import { createPty, PtyClient, statusOf } from "./support/pty-client.ts";

async function opened(query: string, command: string): Promise<{ server: ExecdServer; id: string; client: PtyClient }> {
	const server = await startExecd();
	const id = await createPty(server, { command });
	return { server, id, client: await PtyClient.open(server, id, query) };
}

test("I-47: 10 MB in one message and in thousands reach a program that reads late, complete and in order", async () => {
	const { client } = await opened("pty=0", "read -r go; head -c 10000000 | sha256sum");
	const bytes = Buffer.from(Array.from({ length: 10_000_000 }, (_, index) => (index * index) % 253));
	client.type("go\n");
	client.type(bytes.subarray(0, 5_000_000));
	for (let at = 5_000_000; at < bytes.byteLength; at += 1000) client.type(bytes.subarray(at, at + 1000));
	await client.message("exit");
	expect(client.output.toString().slice(0, 64)).toBe(createHash("sha256").update(bytes).digest("hex"));
});

/** Reads nothing until it gets SIGINT, then counts. */
const lateReader = `trap 'go=1' INT; echo ready; while [ -z "$go" ]; do sleep 0.01; done; exec head -c 500000 | wc -c`;

test("a program that does not read delays neither pings nor a take-over, and reads later", async () => {
	const { server, id, client } = await opened("pty=0", lateReader);
	await client.text(/ready/);
	// The pipe and the session's window take a part of it. The client leaves before the rest fits.
	client.type(Buffer.alloc(500_000, "x"));
	client.say({ type: "ping" });
	await client.message("pong");
	const second = await PtyClient.open(server, id, `takeover=1&since=${client.position}`);
	expect((await client.closed).code).toBe(4001);
	second.say({ type: "signal", signal: "SIGINT" });
	second.type(Buffer.alloc(500_000, "x"));
	await second.message("exit");
	expect(second.output.toString().trim()).toBe("500000");
});

test("2.9: unread input does not delay a signal", async () => {
	const { client } = await opened("pty=0", lateReader);
	await client.text(/ready/);
	client.type(Buffer.alloc(150_000, "x"));
	client.say({ type: "signal", signal: "SIGINT" });
	client.type(Buffer.alloc(350_000, "x"));
	await client.message("exit");
	expect(client.output.toString().trim()).toMatch(/500000$/);
});

test("2.16: input above the bound stays with the client until the program reads, and all of it arrives", async () => {
	const { server, client } = await opened("pty=0", lateReader.replace("500000", "12000000"));
	await client.text(/ready/);
	for (let count = 0; count < 12; count++) client.type(Buffer.alloc(1_000_000, "x"));
	// The signal comes from another client: messages behind so much input are not read.
	const [session] = server.sessions.list();
	const { lease } = (await session?.info()) ?? {};
	await session?.act({ kind: "signal", signal: "SIGINT", urgent: true }, { fence: lease?.fence ?? 0 });
	await client.message("exit");
	expect(client.output.toString().trim()).toMatch(/12000000$/);
});

test("I-23: exactly one exit is sent, also when input fails at the moment of the exit", async () => {
	const server = await startExecd();
	for (let count = 0; count < 20; count++) {
		const id = await createPty(server, { command: "read -r x; exit 7" });
		const client = await PtyClient.open(server, id, count % 2 === 0 ? "pty=0" : "");
		client.type("\n");
		for (let more = 0; more < 50 && client.socket.readyState === 1; more++) client.type(Buffer.alloc(20_000, "y\n"));
		expect((await client.closed).code).toBe(1000);
		expect(client.messages.filter(({ type }) => type === "exit")).toEqual([{ type: "exit", exit_code: 7 }]);
		expect(client.messages.at(-1)?.type).toBe("exit");
		const errors = client.messages.filter(({ type }) => type === "error");
		expect(errors.every(({ code }) => code === "STDIN_WRITE_FAILED") && errors.length <= 1).toBe(true);
	}
	expect(server.problems).toEqual([]);
});

test("2.9, I-42: input that can't be written while the program runs ends the connection, not the program", async () => {
	const { server, id, client } = await opened("pty=0", "exec 0<&-; echo closed; exec sleep 1000");
	await client.text(/closed/);
	client.type("not read by anything\n");
	expect(await client.message("error")).toMatchObject({ code: "STDIN_WRITE_FAILED" });
	expect((await client.closed).code).toBe(1011);
	expect((await statusOf(server, id)).running).toBe(true);
	const next = await eventually("a free lock", () => PtyClient.open(server, id).catch(() => undefined));
	expect(next.output.toString()).toContain("closed");
});

test("2.7: messages sent before connected take effect after it, and messages sent before a close take effect, too", async () => {
	const server = await startExecd();
	const id = await createPty(server, { command: "read -r a; read -r b; echo got $a $b; exec cat" });
	const client = new PtyClient(server.url, id, "pty=0");
	client.socket.once("open", () => client.type("one\n"));
	await client.message("connected");
	client.type("two\n");
	client.socket.close();
	await client.closed;
	const next = await eventually("a free lock", () => PtyClient.open(server, id).catch(() => undefined));
	await next.text(/got one two\n/);
});

test("2.9: end of file on a terminal is a key, and Control-C another", async () => {
	const { client } = await opened("", "cat; echo after; cat; echo never");
	client.type("typed\n");
	await client.text(/typed\r\ntyped\r\n/);
	client.type("\u0004");
	await client.text(/after\r\n/);
	client.type("\u0003");
	// A shell whose child was killed exits the same way.
	expect(await client.message("exit")).toEqual({ type: "exit", exit_code: -1 });
});

test("a holder excludes writers of other protocols for exactly as long as it is connected", async () => {
	const { server, client } = await opened("", "exec cat");
	const [session] = server.sessions.list();
	const write = () => session?.act({ kind: "write", bytes: Buffer.from("from aside\n") });
	await expect(write()).rejects.toMatchObject({ code: "not_writable" });
	await client.close();
	await eventually("the lease's end", async () => (await session?.info())?.lease.exclusive === false);
	await write();
});
