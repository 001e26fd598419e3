/** Who answers a program that asks its terminal something: one of those who are attached, or the session itself. */

import { afterAll, beforeAll, expect, it } from "vitest";
import { PatientClock } from "../../helpers/fake-clock.ts";
import { eventually } from "../../helpers/reading.ts";
import { principalWith, startTestServer, type TestServer } from "./test-server.ts";
import { TestSocket } from "./test-socket.ts";

const clock = new PatientClock();
let server: TestServer;
beforeAll(async () => {
	// What is answered late, because this process stood still, is not answered at all.
	server = await startTestServer({ principals: { reader: principalWith(["read"]) }, clock });
});
afterAll(async () => {
	await server.close();
	clock.stop();
	expect(server.problems).toEqual([]);
});

/** For each line that is typed: asks, reads what it gets up to a `c`, and prints that with E for escape. */
const ASKER =
	"stty raw -echo; printf READY; while IFS= read -r line; do printf '<%s\\033[c' \"$line\"; got=; while :; do c=$(dd bs=1 count=1 2>/dev/null | tr '\\033' E); got=$got$c; [ \"$c\" = c ] && break; done; printf '[%s]' \"$got\"; done";

async function asker(): Promise<string> {
	const { id } = await server.create({ command: ASKER });
	const client = await TestSocket.open(server.url, id, { role: "viewer" });
	await client.text((text) => text.includes("READY"));
	client.cut();
	return id;
}

const attach = (id: string, stream: string) => TestSocket.open(server.url, id, { stream, replies: true, since: 0 });

/** Whether it is told that a place in the output is its own to answer. */
function answers(client: TestSocket, offset: number): boolean {
	const told = client.messages.flatMap((one) => (one.type === "replies" && one.from <= offset ? [one] : []));
	return told.at(-1)?.mine ?? false;
}

it("the session answers while nobody does who is attached", async () => {
	const id = await asker();
	const client = await TestSocket.open(server.url, id, { stream: "agent" });
	client.type(0, "one\n");
	await client.text((text) => text.endsWith("<one\u001b[c[E[?62;22c]"));
	expect(client.messages.filter(({ type }) => type === "replies")).toEqual([]);
});

it("an attached terminal answers from the place that it is told, and the session again when it has left", async () => {
	const id = await asker();
	const terminal = await attach(id, "terminal");
	expect(await terminal.message("replies")).toEqual({ type: "replies", mine: true, from: 5 });
	terminal.type(0, "one\n");
	const asked = await terminal.text((text) => text.includes("\u001b[c"));
	expect(answers(terminal, asked.indexOf("\u001b[c"))).toBe(true);
	terminal.type(4, "\u001b[?1c");
	await terminal.text((text) => text.endsWith("<one\u001b[c[E[?1c]"));
	terminal.cut();
	const agent = await TestSocket.open(server.url, id, { stream: "agent" });
	await eventually("it has left", async () => {
		const response = await server.request(`/v1/sessions/${id}`);
		return ((await response.json()) as { attachments: number }).attachments === 1;
	});
	agent.type(0, "two\n");
	await agent.text((text) => text.endsWith("<two\u001b[c[E[?62;22c]"));
});

it("of several terminals exactly one answers at any place, whoever takes control", async () => {
	const id = await asker();
	const clients = [await attach(id, "ada"), await attach(id, "bob"), await attach(id, "eve")];
	const [ada] = clients as [TestSocket, TestSocket, TestSocket];
	const positions = clients.map(() => 0);
	for (let round = 0; round < 12; round++) {
		const index = round % 3;
		const client = clients[index] as TestSocket;
		if (round % 4 !== 3) {
			client.say({ type: "take", exclusive: false, force: true });
			await client.message("lease", ({ lease }) => lease.mine);
		}
		client.type(positions[index] ?? 0, `${round}\n`);
		positions[index] = (positions[index] ?? 0) + `${round}\n`.length;
		const question = `<${round}\u001b[c`;
		const seen = await Promise.all(clients.map((each) => each.text((text) => text.includes(question))));
		const place = (seen[0] ?? "").indexOf(question) + question.length - 1;
		const mine = clients.filter((each) => answers(each, place));
		expect(mine).toHaveLength(1);
		const answerer = clients.indexOf(mine[0] as TestSocket);
		(mine[0] as TestSocket).type(positions[answerer] ?? 0, `${answerer}c`);
		positions[answerer] = (positions[answerer] ?? 0) + 2;
		await ada.text((text) => text.endsWith(`[${answerer}c]`));
	}
});

it("who only reads is not asked to answer", async () => {
	const id = await asker();
	const reader = await TestSocket.open(server.url, id, { stream: "r", replies: true }, { token: "reader" });
	const viewer = await TestSocket.open(server.url, id, { role: "viewer", replies: true });
	const agent = await TestSocket.open(server.url, id, { stream: "agent" });
	agent.type(0, "one\n");
	await agent.text((text) => text.endsWith("[E[?62;22c]"));
	for (const client of [reader, viewer]) {
		expect(client.messages.filter(({ type }) => type === "replies")).toEqual([]);
	}
});
