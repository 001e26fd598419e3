import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { expect, it, onTestFinished } from "vitest";
import { allowAnyone } from "../../src/access/fixed-access.ts";
import type { Front } from "../../src/http/front.ts";
import { type ListenOptions, listen } from "../../src/http/listen.ts";

/** More than the kernel buffers for a client that does not read. */
const LARGE = "x".repeat(8 * 1024 * 1024);

/** Answers of several kinds; records which have begun and ended. `release` continues waiting ones. */
function createFront() {
	const begun: string[] = [];
	const over: string[] = [];
	let release = () => {};
	const released = new Promise<void>((resolve) => {
		release = resolve;
	});
	const front: Front = {
		name: "numbers",
		credential: () => undefined,
		register(app) {
			app.get<{ Params: { n: string } }>("/small/:n", { config: { policy: "public" } }, async ({ params }) => {
				begun.push(params.n);
				return params.n;
			});
			app.get<{ Params: { n: string } }>("/large/:n", { config: { policy: "public" } }, async ({ params }, reply) => {
				begun.push(params.n);
				reply.raw.once("close", () => over.push(params.n));
				return LARGE;
			});
			app.post("/body", { config: { policy: "public" } }, async () => "all of it");
			app.get("/slow", { config: { policy: "public" } }, async () => {
				begun.push("slow");
				await released;
				return "at last";
			});
			app.get("/socket", { config: { policy: "public", isSocket: true } }, async () => "no socket today");
		},
	};
	return { front, begun, over, release };
}

async function serve(
	options: Partial<ListenOptions> = {},
): Promise<{ begun: string[]; over: string[]; release: () => void; client: Socket }> {
	const { front, begun, over, release } = createFront();
	const listener = await listen({
		host: "127.0.0.1",
		port: 0,
		fronts: [front],
		authorize: allowAnyone,
		report: (problem) => expect.unreachable(String(problem)),
		...options,
	});
	onTestFinished(() => listener.close());
	const client = connect(listener.port, "127.0.0.1");
	client.on("error", () => {});
	onTestFinished(() => void client.destroy());
	await once(client, "connect");
	return { begun, over, release, client };
}

const get = (path: string, more = "") => `GET ${path} HTTP/1.1\r\nhost: localhost\r\n${more}\r\n`;
const upgrade =
	"connection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==\r\n";

/** Reads until the text arrives. */
async function until(client: Socket, text: string): Promise<string> {
	let read = "";
	for await (const chunk of client) {
		read += String(chunk);
		if (read.includes(text)) return read;
	}
	throw new Error(`the connection ended without ${text}`);
}

it("pipelined requests are answered one after the other", async () => {
	const { client, begun } = await serve();
	client.write(["1", "2", "3"].map((n) => get(`/small/${n}`)).join("") + get("/nowhere"));
	await until(client, "there is no GET /nowhere");
	expect(begun).toEqual(["1", "2", "3"]);
});

it("an answer is not made before the previous one was read", async () => {
	const { client, begun } = await serve();
	client.pause();
	client.write(["1", "2", "3"].map((n) => get(`/large/${n}`)).join(""));
	// A second connection's answer arrives after everything that the first could cause.
	await expect.poll(() => begun).toEqual(["1"]);
	const { client: other } = await serve();
	other.write(get("/small/other"));
	await until(other, "other");
	expect(begun).toEqual(["1"]);
	client.resume();
	await expect.poll(() => begun, { timeout: 10_000 }).toEqual(["1", "2", "3"]);
});

it("a client that pipelines too many requests is disconnected", async () => {
	const { client, begun } = await serve();
	client.write(get("/large/1") + get("/large/2").repeat(1000));
	client.pause();
	await once(client.resume(), "close");
	expect(begun).toEqual(["1"]);
});

it("an upgrade waits for the previous answer, like any request", async () => {
	const { client } = await serve();
	client.write(get("/small/first") + get("/socket", upgrade));
	const read = await until(client, "no socket today");
	expect(read).toContain("first");
});

it("a client that reads nothing of its answer for long is disconnected", async () => {
	const { client, over } = await serve({ sendTimeoutMs: 200 });
	client.pause();
	client.write(get("/large/1"));
	await expect.poll(() => over).toEqual(["1"]);
	await once(client.resume(), "close");
	expect(client.bytesRead).toBeLessThan(LARGE.length);
});

it("a client that waits for its answer is not disconnected", async () => {
	const patient = await serve({ sendTimeoutMs: 50 });
	patient.client.write(get("/slow"));
	await expect.poll(() => patient.begun).toEqual(["slow"]);
	// By the time another client is cut for not reading, this one has waited long enough.
	const { client, over } = await serve({ sendTimeoutMs: 100 });
	client.pause();
	client.write(get("/large/1"));
	await expect.poll(() => over).toEqual(["1"]);
	patient.release();
	await until(patient.client, "at last");
});

it("with long bodies, a stalled body is cut off, and a slow one is not", async () => {
	const head = "POST /body HTTP/1.1\r\nhost: localhost\r\ncontent-type: text/plain\r\ncontent-length: 10\r\n\r\n";
	const limitMs = 2_000;
	/** Takes longer in total than a body may stall. */
	const slowly = async (): Promise<"answered" | "cut off" | "we stood still"> => {
		const { client: slow } = await serve({ hasLongBodies: true, sendTimeoutMs: limitMs });
		const isAnswered = until(slow, "all of it").then(
			() => true,
			() => false,
		);
		slow.setNoDelay(true);
		slow.write(head);
		let longestMs = 0;
		for (let byte = 0; byte < 10; byte++) {
			const begun = performance.now();
			slow.write("x");
			const { client: stuck } = await serve({ hasLongBodies: true, sendTimeoutMs: 250 });
			stuck.write(`${head}xxx`);
			await once(stuck.resume(), "close");
			longestMs = Math.max(longestMs, performance.now() - begun);
		}
		if (await isAnswered) return "answered";
		return longestMs < limitMs ? "cut off" : "we stood still";
	};
	let outcome = await slowly();
	while (outcome === "we stood still") outcome = await slowly();
	expect(outcome).toBe("answered");
});
