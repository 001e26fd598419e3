/** Replies to terminal queries of a program: from one attached terminal, or from the session itself. */

import { afterAll, beforeAll, expect, it } from "vitest";
import { PatientClock } from "../../support/fake-clock.ts";
import { principalWith, startTestServer, type TestServer } from "../../support/native-server.ts";
import { eventually } from "../../support/reading.ts";
import { TestSocket } from "../../support/socket-client.ts";

const clock = new PatientClock();
let server: TestServer;
beforeAll(async () => {
	// A reply that is late because this process was delayed is dropped.
	server = await startTestServer({ principals: { reader: principalWith(["read"]) }, clock });
});
afterAll(async () => {
	await server.close();
	clock.stop();
	expect(server.problems).toEqual([]);
});

/** For each typed line: sends a query, reads up to a `c`, and prints the reply with E for escape. */
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

/** Whether it is assigned the reply to a query at this position. */
function answers(client: TestSocket, offset: number): boolean {
	const told = client.messages.flatMap((one) => (one.type === "replies" && one.from <= offset ? [one] : []));
	return told.at(-1)?.mine ?? false;
}

it("the session replies while no attached client does", async () => {
	const id = await asker();
	const client = await TestSocket.open(server.url, id, { stream: "agent" });
	client.type(0, "one\n");
	await client.text((text) => text.endsWith("<one\u001b[c[E[?62;22c]"));
	expect(client.messages.filter(({ type }) => type === "replies")).toEqual([]);
});

it("an attached terminal replies from its assigned position on, and the session again after the terminal to leave", async () => {
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
	await eventually("the terminal to leave", async () => {
		const response = await server.request(`/v1/sessions/${id}`);
		return ((await response.json()) as { attachments: number }).attachments === 1;
	});
	agent.type(0, "two\n");
	await agent.text((text) => text.endsWith("<two\u001b[c[E[?62;22c]"));
});

it("of several terminals exactly one replies at any position with any holder of control", async () => {
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

it("a reader is never assigned replies", async () => {
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
