import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { expect, it, onTestFinished } from "vitest";
import { ByteBudget } from "../../src/fronts/byte-budget.ts";
import { bearer, type Front } from "../../src/fronts/front.ts";
import { setBodyAside } from "../../src/server/bodies.ts";
import { createBudgets } from "../../src/server/budgets.ts";
import { type Listener, type ListenOptions, listen } from "../../src/server/listen.ts";
import { principalWith } from "../fronts/native/test-server.ts";

const MiB = 1024 * 1024;

const front: Front = {
	name: "length",
	credential: bearer,
	register: (app) =>
		void app.post("/length", { config: { policy: "read" } }, async ({ body }) => JSON.stringify(body).length),
};

/** What was reported as our own fault. */
const problems: unknown[] = [];

async function serve(options: Partial<Pick<ListenOptions, "fronts" | "budgets">> = {}): Promise<Listener> {
	const listener = await listen({
		host: "127.0.0.1",
		port: 0,
		fronts: [front],
		// Everybody is who they say they are.
		authorize: async ({ credential: id = "nobody" }) => principalWith(["read"], { id, isAdmin: id === "admin" }),
		report: (problem) => problems.push(problem),
		...options,
	});
	onTestFinished(() => listener.close());
	return listener;
}

type Posting = { readonly path?: string; readonly token?: string; readonly length?: string };

/** Begins a large body; the status of the answer, if there is one before the body is there. */
function begin({ port }: Listener, { path = "/length", token = "a", length = `content-length: ${MiB}` }: Posting = {}) {
	const socket: Socket = connect(port, "127.0.0.1");
	onTestFinished(() => void socket.destroy());
	const head = `POST ${path} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ${token}\r\ncontent-type: application/json\r\n`;
	socket.write(`${head}${length}\r\n\r\n`);
	const status = once(socket, "data").then(([data]) => Number(String(data).slice(9, 12)));
	return { socket, status };
}

it("bodies that wait are bounded for each caller and for all, and the operator has room all the same", async () => {
	const listener = await serve();
	const waiting = ["a", "b"].flatMap((token) => Array.from({ length: 32 }, () => begin(listener, { token })));
	// Each is refused once the others have come.
	await expect.poll(() => begin(listener, { token: "a" }).status).toBe(429);
	await expect.poll(() => begin(listener, { token: "c" }).status).toBe(429);
	const own = begin(listener, { token: "admin" });
	own.socket.write(`"${"x".repeat(MiB - 2)}"`);
	expect(await own.status).toBe(200);
	// What was held is free again when its client has gone.
	for (const { socket } of waiting) socket.destroy();
	await expect
		.poll(async () => {
			const { socket, status } = begin(listener, { token: "c" });
			socket.write(`"${"x".repeat(MiB - 2)}"`);
			return status;
		})
		.toBe(200);
	expect(problems).toEqual([]);
});

it.each([
	["of known length", `content-length: ${8 * MiB}`, "x".repeat(8 * MiB)],
	["in chunks", "transfer-encoding: chunked", `${(8 * MiB).toString(16)}\r\n${"x".repeat(8 * MiB)}\r\n0\r\n\r\n`],
])("who sends a body that is too large, %s, and reads only then, hears so, and can go on", async (_, length, body) => {
	const { socket } = begin(await serve(), { length });
	socket.pause();
	// All of it is taken, or this is an EPIPE or an ECONNRESET.
	await new Promise<void>((resolve, reject) => {
		socket.once("error", reject);
		socket.write(body, (error) => (error ? reject(error) : resolve()));
	});
	socket.write("GET /nowhere HTTP/1.1\r\nhost: localhost\r\n\r\n");
	let answers = "";
	for await (const chunk of socket.resume()) {
		answers += String(chunk);
		if (answers.includes("there is no GET /nowhere")) break;
	}
	expect(answers).toMatch(/^HTTP\/1\.1 413 .*HTTP\/1\.1 404 /s);
});

it("a body of unknown length counts as the longest, also where there is nothing to send it to", async () => {
	const listener = await serve();
	for (let count = 0; count < 32; count++) begin(listener, { length: "transfer-encoding: chunked" });
	await expect.poll(() => begin(listener).status).toBe(429);
	for (let count = 0; count < 32; count++) begin(listener, { path: "/nowhere" });
	await expect.poll(() => begin(listener, { path: "/nowhere" }).status).toBe(429);
});

it("the body of what is held leaves its room to others, and has room of its own, which is bounded", async () => {
	const asking = new Set<string>();
	const holding: Front = {
		name: "holding",
		credential: bearer,
		register: (app) =>
			void app.post("/hold", { config: { policy: "read" } }, async (request) => {
				setBodyAside(request);
				asking.add(request.principal?.id ?? "");
				return new Promise(() => {});
			}),
	};
	const room = (totalBytes: number) => new ByteBudget({ totalBytes, eachBytes: totalBytes });
	const budgets = { ...createBudgets(), bodies: room(MiB), heldBodies: room(2 * MiB) };
	const listener = await serve({ fronts: [front, holding], budgets });
	const hold = (token: string) => {
		const posting = begin(listener, { path: "/hold", token });
		posting.socket.write(`"${"x".repeat(MiB - 2)}"`);
		return posting;
	};
	const held = ["a", "b"].map((token) => async () => {
		const { socket } = hold(token);
		await expect.poll(() => asking.has(token)).toBe(true);
		return socket;
	});
	const sockets = [];
	for (const one of held) sockets.push(await one());
	expect(await hold("c").status).toBe(429);
	// Whose act is not held has all the room that there is for bodies.
	const { socket, status } = begin(listener, { token: "d" });
	socket.write(`"${"x".repeat(MiB - 2)}"`);
	expect(await status).toBe(200);
	for (const one of sockets) one.destroy();
	await expect
		.poll(() => {
			hold("e");
			return asking.has("e");
		})
		.toBe(true);
});
