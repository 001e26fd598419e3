import { once } from "node:events";
import { expect, it, onTestFinished } from "vitest";
import { WebSocket } from "ws";
import { type Started, start } from "../../support/server.ts";
import { TestSocket } from "../../support/socket-client.ts";

/** The result of attaching: 101 if the attachment stays after its hello, or else the status of the refusal. */
async function attach(server: Started, id: string, token: string): Promise<number> {
	const url = `${server.url.replace(/^http/, "ws")}/v1/sessions/${id}/attach`;
	const socket = new WebSocket(url, "hawser.v1", { headers: { authorization: `Bearer ${token}` } });
	onTestFinished(() => socket.terminate());
	socket.once("open", () => socket.send(JSON.stringify({ type: "hello", since: 0, role: "viewer", flow: "live" })));
	const refused = once(socket, "unexpected-response").then(([, response]) => response.statusCode as number);
	return Promise.race([once(socket, "open").then(() => 101), refused]);
}

it("concurrent attachments are accepted up to the limit", async () => {
	const server = await start();
	const id = await server.session();
	const answers = await Promise.all(Array.from({ length: 300 }, () => attach(server, id, server.adminToken)));
	expect(answers.filter((status) => status === 101)).toHaveLength(100);
	expect(answers.filter((status) => status === 429)).toHaveLength(200);
});

it("a viewer may retry as often as it wants without keeping operators out", async () => {
	const server = await start();
	const id = await server.session();
	const viewer = await server.token(`session:${id}:view`);
	const controller = await server.token(`session:${id}:control`);
	const leaving = new AbortController();
	const headers = { authorization: `Bearer ${viewer}` };
	const poll = () => server.request(`/v1/sessions/${id}/output?wait=60000`, { headers, signal: leaving.signal });
	const refused: number[] = [];
	const polls = Array.from({ length: 300 }, () => poll().then(({ status }) => refused.push(status)));
	// The refused ones are answered, the others wait.
	await expect.poll(() => refused.length).toBe(275);
	expect(new Set(refused)).toEqual(new Set([429]));
	expect(await attach(server, id, server.adminToken)).toBe(101);
	expect(await attach(server, id, controller)).toBe(101);
	leaving.abort();
	const answers = await Promise.allSettled(polls);
	expect(answers.filter(({ status }) => status === "rejected")).toHaveLength(25);
	// Their slots are released.
	await expect.poll(async () => (await TestSocket.open(server.url, id, {}, { token: viewer })).messages.length).toBe(1);
});

it("a token gets no more slots through tokens that it creates", async () => {
	const server = await start();
	const id = await server.session();
	const viewer = await server.token(`session:${id}:view`);
	const child = async () => {
		const { body } = await server.post("/v1/tokens", { scopes: [`session:${id}:view`] }, viewer);
		return body.token ?? "";
	};
	const family = [viewer, await child(), await child()];
	const answers = await Promise.all(
		Array.from({ length: 60 }, (_, index) => attach(server, id, family[index % family.length] ?? "")),
	);
	expect(answers.filter((status) => status === 101)).toHaveLength(25);
	expect(await attach(server, id, await server.token(`session:${id}:view`))).toBe(101);
});
