/** One call over a WebSocket that types, waits and reads. */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, expect, onTestFinished, test } from "vitest";
import type { SendInput } from "../../../src/api/types.ts";
import { connect } from "../../../src/client/index.ts";
import { CrashingServer } from "../../support/crashing-server.ts";
import { startTestServer, type TestServer, TOKEN } from "../../support/native-server.ts";
import { eventually } from "../../support/reading.ts";
import { TestSocket } from "../../support/socket-client.ts";
import { temporaryDirectory } from "../../support/temporary.ts";

let server: TestServer;
beforeAll(async () => {
	server = await startTestServer();
	return () => server.close();
});

/** Answers each line by repeating it. */
const ECHO = "while read line; do echo got-$line; done";

function send(socket: TestSocket, id: string, input: SendInput, position = 0, stream = id): void {
	socket.say({ type: "send", id, stream, position, input });
}

async function answerTo(socket: TestSocket, id: string) {
	return socket.message("sent", (message) => message.id === id);
}

test("a send is typed in order with other input, and answered when its wait ends", async () => {
	const { id } = await server.create({ command: ECHO });
	const socket = await TestSocket.open(server.url, id, { stream: "own" });
	socket.type(0, "a");
	send(socket, "1", { text: "b", keys: ["Enter"], until: { match: "got-ab" } });
	socket.type(1, "c\r");
	expect(await answerTo(socket, "1")).toMatchObject({ answer: { cause: "match", next: 2 } });
	await eventually("the input after it", () => socket.output.includes("got-c"));
});

test("concurrent sends are limited, and each gets its own answer", async () => {
	const { id } = await server.create({ command: ECHO });
	const socket = await TestSocket.open(server.url, id);
	for (let one = 1; one <= 8; one++) send(socket, `${one}`, { until: { match: `got-${one}\n` } });
	send(socket, "more", { until: { match: "x" } });
	expect(await socket.message("error")).toMatchObject({ id: "more", code: "limit_exceeded" });
	for (const one of [2, 1, 3, 8, 5, 4, 7, 6]) {
		socket.type(socket.receipt?.next ?? 0, `${one}\r`);
		expect(await answerTo(socket, `${one}`)).toMatchObject({ answer: { cause: "match" } });
	}
	send(socket, "after", { text: "9", keys: ["Enter"], until: { match: "got-9" } });
	expect(await answerTo(socket, "after")).toMatchObject({ answer: { cause: "match" } });
});

test("a viewer may not send, and an invalid send is reported by its id", async () => {
	const { id } = await server.create({ command: ECHO });
	const viewer = await TestSocket.open(server.url, id, { role: "viewer" });
	send(viewer, "a", { text: "x" });
	expect(await viewer.message("error")).toMatchObject({ id: "a", code: "not_writable" });
	const writer = await TestSocket.open(server.url, id);
	send(writer, "b", { keys: ["Entr"] });
	expect(await writer.message("error")).toMatchObject({ id: "b", code: "invalid_argument" });
	send(writer, "c", { text: "x".repeat(5_000), keys: ["Enter"] });
	expect(await writer.message("error", ({ id }) => id === "c")).toMatchObject({ code: "invalid_argument" });
	const other = await TestSocket.open(server.url, id);
	other.say({ type: "take", exclusive: true, force: false });
	await other.message("lease", ({ lease }) => lease.mine);
	send(writer, "d", { text: "x", keys: ["Enter"] });
	expect(await writer.message("error", ({ id }) => id === "d")).toMatchObject({ code: "not_writable" });
});

test("a wait ends with its connection, and the same send on the next connection does not type again", async () => {
	const { id } = await server.create({ command: 'while read line; do echo "got-$line"; sleep 0.3; echo late; done' });
	const first = await TestSocket.open(server.url, id);
	const input = { text: "once", keys: ["Enter"], until: { match: "late" } };
	send(first, "1", input);
	await eventually("the input to arrive", () => first.output.includes("got-once"));
	first.socket.terminate();
	const second = await TestSocket.open(server.url, id);
	send(second, "2", input, 0, "1");
	const { answer } = await answerTo(second, "2");
	expect(answer).toMatchObject({ cause: "match", text: expect.stringMatching(/once\s+got-once\s+late/) });
	expect(second.output.toString().match(/got-once/g)).toHaveLength(1);
});

test("an attachment's send is typed once when the server is killed meanwhile", async () => {
	const crashing = new CrashingServer(await temporaryDirectory());
	await crashing.start();
	onTestFinished(() => crashing.killAll());
	const times = { firstRetryMs: 20, lastRetryMs: 100 };
	const client = connect({ url: crashing.url, token: await crashing.token(), times });
	const home = await temporaryDirectory();
	const command = "while read line; do echo $line >>count; sleep 1; echo late; done";
	const session = await client.sessions.create({ command, cwd: home });
	await using attachment = session.attach({ since: "end" });
	const answer = attachment.send({ text: "go", keys: ["Enter"], until: { match: /^late$/ } });
	const count = () => {
		try {
			return readFileSync(join(home, "count"), "utf8");
		} catch {
			return "";
		}
	};
	await eventually("the input to arrive", () => count() === "go\n");
	await crashing.kill();
	await crashing.start();
	expect(await answer).toMatchObject({ cause: "match", text: expect.stringMatching(/go\s+late/) });
	expect(count()).toBe("go\n");
});

test("an attachment's send ends with the attachment, or when its caller gives up", async () => {
	const client = connect({ url: server.url, token: TOKEN });
	const session = await client.sessions.create({ command: ECHO });
	const attachment = session.attach();
	const own = new AbortController();
	const given = attachment.send({ until: { match: "never" } }, { signal: own.signal });
	const left = attachment.send({ until: { match: "never" } });
	expect(await attachment.send({ text: "x", keys: ["Enter"], until: { match: "got-x" } })).toMatchObject({
		cause: "match",
	});
	own.abort(new Error("enough"));
	await expect(given).rejects.toThrow("enough");
	await attachment.detach();
	await expect(left).rejects.toMatchObject({ code: "session_closed" });
});
