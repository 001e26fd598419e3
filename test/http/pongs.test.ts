import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { describe, expect, it, onTestFinished } from "vitest";
import { WebSocket } from "ws";
import { allowAnyone } from "../../src/access/fixed-access.ts";
import type { Front } from "../../src/http/front.ts";
import { listen } from "../../src/http/listen.ts";
import { createAcceptor, pauseUntilReleased } from "../../src/http/upgrade.ts";

/** A server with one WebSocket, and its side of the last one opened. */
async function serve(): Promise<{ port: number; accepted: () => WebSocket | undefined }> {
	const accept = createAcceptor({ maxPayload: 1024 });
	let accepted: WebSocket | undefined;
	const front: Front = {
		name: "socket",
		credential: () => undefined,
		register: (app) =>
			void app.get("/", { config: { policy: "public", isSocket: true } }, async (request, reply) => {
				accepted = accept(request, reply);
			}),
	};
	const report = (problem: unknown) => expect.unreachable(String(problem));
	const listener = await listen({ host: "127.0.0.1", port: 0, fronts: [front], authorize: allowAnyone, report });
	onTestFinished(() => listener.close());
	return { port: listener.port, accepted: () => accepted };
}

const PINGS = 100_000;
/** Pings of the largest size, masked as clients must. Their pongs exceed the kernel's buffers. */
const ping = Buffer.concat([Buffer.from([0x89, 0x80 | 125, 0, 0, 0, 0]), Buffer.alloc(125, "p")]);

/** A WebSocket that is not read. */
async function openRaw(port: number): Promise<Socket> {
	const raw = connect(port, "127.0.0.1");
	onTestFinished(() => void raw.destroy());
	raw.write(
		"GET / HTTP/1.1\r\nhost: localhost\r\nconnection: upgrade\r\nupgrade: websocket\r\n" +
			"sec-websocket-version: 13\r\nsec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n",
	);
	await once(raw, "readable");
	raw.pause();
	return raw;
}

describe("a WebSocket of any front", () => {
	it("a paused socket is read again only after every pause was released", async () => {
		const { port, accepted } = await serve();
		await openRaw(port);
		const socket = accepted();
		if (!socket) throw new Error("nothing was accepted");
		const first = pauseUntilReleased(socket);
		const second = pauseUntilReleased(socket);
		first();
		first();
		expect(socket.isPaused).toBe(true);
		second();
		expect(socket.isPaused).toBe(false);
	});

	it("a ping is answered with its payload", async () => {
		const { port } = await serve();
		const client = new WebSocket(`ws://127.0.0.1:${port}/`);
		onTestFinished(() => client.terminate());
		await once(client, "open");
		client.ping("are you there?");
		expect(String((await once(client, "pong"))[0])).toBe("are you there?");
	});

	it("a client that does not read has one pong in flight, however many pings it sends, and reads the rest later", async () => {
		const { port, accepted } = await serve();
		const raw = await openRaw(port);
		let most = 0;
		accepted()?.on("ping", () => {
			most = Math.max(most, accepted()?.bufferedAmount ?? 0);
		});
		raw.write(Buffer.alloc(PINGS * ping.byteLength, ping));
		await expect.poll(() => accepted()?.isPaused).toBe(true);
		expect(most).toBeLessThan(1024);
	});
});
