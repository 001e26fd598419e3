import { once } from "node:events";
import { expect, it, onTestFinished } from "vitest";
import { WebSocket } from "ws";
import { TestSocket } from "../fronts/native/test-socket.ts";
import { type Started, start } from "./start.ts";

/** How an attachment is answered: 101, and then it says hello, so that it stays; or the status with which it is refused. */
async function attach(server: Started, id: string, token: string): Promise<number> {
	const url = `${server.url.replace(/^http/, "ws")}/v1/sessions/${id}/attach`;
	const socket = new WebSocket(url, "hawser.v1", { headers: { authorization: `Bearer ${token}` } });
	onTestFinished(() => socket.terminate());
	socket.once("open", () => socket.send(JSON.stringify({ type: "hello", since: 0, role: "viewer", flow: "live" })));
	const refused = once(socket, "unexpected-response").then(([, response]) => response.statusCode as number);
	return Promise.race([once(socket, "open").then(() => 101), refused]);
}

it("of many who attach at the same moment no more are let in than may be", async () => {
	const server = await start();
	const id = await server.session();
	const answers = await Promise.all(Array.from({ length: 300 }, () => attach(server, id, server.adminToken)));
	expect(answers.filter((status) => status === 101)).toHaveLength(100);
	expect(answers.filter((status) => status === 429)).toHaveLength(200);
});

it("who looks may ask as often as it wants, and keeps nobody out who may operate", async () => {
	const server = await start();
	const id = await server.session();
	const viewer = await server.token(`session:${id}:view`);
	const controller = await server.token(`session:${id}:control`);
	const leaving = new AbortController();
	const headers = { authorization: `Bearer ${viewer}` };
	const poll = () => server.request(`/v1/sessions/${id}/output?wait=60000`, { headers, signal: leaving.signal });
	const refused: number[] = [];
	const polls = Array.from({ length: 300 }, () => poll().then(({ status }) => refused.push(status)));
	// Those that are refused are answered, the others wait.
	await expect.poll(() => refused.length).toBe(275);
	expect(new Set(refused)).toEqual(new Set([429]));
	expect(await attach(server, id, server.adminToken)).toBe(101);
	expect(await attach(server, id, controller)).toBe(101);
	leaving.abort();
	const answers = await Promise.allSettled(polls);
	expect(answers.filter(({ status }) => status === "rejected")).toHaveLength(25);
	// What they had is given back.
	await expect.poll(async () => (await TestSocket.open(server.url, id, {}, { token: viewer })).messages.length).toBe(1);
});

it("a token that makes others gets no more places by them", async () => {
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
