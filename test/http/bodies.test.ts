import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { expect, it, onTestFinished } from "vitest";
import { Budget } from "../../src/core/async/budget.ts";
import { moveBodyToHeld } from "../../src/http/bodies.ts";
import { bearer } from "../../src/http/caller.ts";
import type { Front } from "../../src/http/front.ts";
import { createBudgets } from "../../src/http/limits/budgets.ts";
import { type Listener, type ListenOptions, listen } from "../../src/http/listen.ts";
import { principalWith } from "../support/native-server.ts";

const MiB = 1024 * 1024;

const front: Front = {
	name: "length",
	credential: bearer,
	register: (app) =>
		void app.post("/length", { config: { policy: "read" } }, async ({ body }) => JSON.stringify(body).length),
};

/** Reported internal errors. */
const problems: unknown[] = [];

async function serve(options: Partial<Pick<ListenOptions, "fronts" | "budgets">> = {}): Promise<Listener> {
	const listener = await listen({
		host: "127.0.0.1",
		port: 0,
		fronts: [front],
		// Callers are identified by their credential.
		authorize: async ({ credential: id = "anonymous" }) => principalWith(["operate"], { id, isAdmin: id === "admin" }),
		report: (problem) => problems.push(problem),
		...options,
	});
	onTestFinished(() => listener.close());
	return listener;
}

type Posting = { readonly path?: string; readonly token?: string; readonly length?: string };

/** Starts a large body. `status` is the early answer's status, if there is one. */
function begin({ port }: Listener, { path = "/length", token = "a", length = `content-length: ${MiB}` }: Posting = {}) {
	const socket: Socket = connect(port, "127.0.0.1");
	onTestFinished(() => void socket.destroy());
	const head = `POST ${path} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ${token}\r\ncontent-type: application/json\r\n`;
	socket.write(`${head}${length}\r\n\r\n`);
	const status = once(socket, "data").then(([data]) => Number(String(data).slice(9, 12)));
	return { socket, status };
}

it("request bodies are limited per caller and in total, with space left for a new caller and the operator", async () => {
	const listener = await serve();
	const waiting = ["a", "b"].flatMap((token) => Array.from({ length: 32 }, () => begin(listener, { token })));
	// Each is refused after the others have arrived.
	await expect.poll(() => begin(listener, { token: "a" }).status).toBe(429);
	await expect.poll(() => begin(listener, { token: "b" }).status).toBe(429);
	for (const token of ["c", "admin"]) {
		const own = begin(listener, { token });
		own.socket.write(`"${"x".repeat(MiB - 2)}"`);
		expect(await own.status).toBe(200);
	}
	// A disconnected client frees its bytes.
	for (const { socket } of waiting) socket.destroy();
	await expect
		.poll(async () => {
			const { socket, status } = begin(listener, { token: "b" });
			socket.write(`"${"x".repeat(MiB - 2)}"`);
			return status;
		})
		.toBe(200);
	expect(problems).toEqual([]);
});

it.each([
	["of known length", `content-length: ${8 * MiB}`, "x".repeat(8 * MiB)],
	["in chunks", "transfer-encoding: chunked", `${(8 * MiB).toString(16)}\r\n${"x".repeat(8 * MiB)}\r\n0\r\n\r\n`],
])(
	"a client that sends a body that is too large, %s, and reads only then, gets the error and keeps the connection",
	async (_, length, body) => {
		const { socket } = begin(await serve(), { length });
		socket.pause();
		// The whole body is read, or this fails with EPIPE or ECONNRESET.
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
	},
);

it.each([
	["too large", "/length"],
	["sent to an unknown path", "/nowhere"],
])("a refused body that is %s is read in small parts, with turns of the event loop in between", async (_, path) => {
	const listener = await serve();
	let most = 0;
	let isOver = false;
	const door = createServer((connection) => {
		listener.accept(connection);
		let read = 0;
		const look = () => {
			most = Math.max(most, connection.bytesRead - read);
			read = connection.bytesRead;
			if (!isOver) setImmediate(look);
		};
		look();
	}).listen(0, "127.0.0.1");
	onTestFinished(() => void door.close());
	await once(door, "listening");
	const { port } = door.address() as AddressInfo;
	const { socket, status } = begin({ ...listener, port }, { path, length: `content-length: ${8 * MiB}` });
	socket.write("x".repeat(8 * MiB));
	expect(await status).toBe(path === "/length" ? 413 : 404);
	// Its answer shows that the body before it was read.
	socket.write("GET /nowhere HTTP/1.1\r\nhost: localhost\r\n\r\n");
	const [next] = (await once(socket, "data")) as [Buffer];
	expect(String(next)).toContain("there is no GET /nowhere");
	isOver = true;
	expect(most).toBeGreaterThan(0);
	expect(most).toBeLessThan(MiB / 2);
});

it("a body of unknown length counts as the largest, and is not read without a route", async () => {
	const listener = await serve();
	for (let count = 0; count < 32; count++) begin(listener, { length: "transfer-encoding: chunked" });
	await expect.poll(() => begin(listener).status).toBe(429);
	for (let count = 0; count < 32; count++) expect(await begin(listener, { path: "/nowhere" }).status).toBe(404);
});

it("the body of a held action moves to a limit of its own", async () => {
	const asking = new Set<string>();
	const holding: Front = {
		name: "holding",
		credential: bearer,
		register: (app) =>
			void app.post("/hold", { config: { policy: "read" } }, async (request) => {
				moveBodyToHeld(request);
				asking.add(request.principal?.id ?? "");
				return new Promise(() => {});
			}),
	};
	const room = (bytes: number) =>
		new Budget({ what: "bytes", operator: 0, others: bytes, each: bytes, fair: 0, accounts: 0 });
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
	// A caller whose action is not held has the whole budget.
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
