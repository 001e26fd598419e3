import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { describe, expect, it, onTestFinished } from "vitest";
import { WebSocket } from "ws";
import { anybody } from "../../src/access/fixed.ts";
import type { Front } from "../../src/fronts/front.ts";
import { createAcceptor, holdBack } from "../../src/fronts/upgrade.ts";
import { listen } from "../../src/server/listen.ts";

/** A server with one WebSocket, and its end of the last one that was opened. */
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
	const listener = await listen({ host: "127.0.0.1", port: 0, fronts: [front], authorize: anybody, report });
	onTestFinished(() => listener.close());
	return { port: listener.port, accepted: () => accepted };
}

const PINGS = 100_000;
/** As large as they may be, and masked as a client must. More in all than the kernel takes of their answers. */
const ping = Buffer.concat([Buffer.from([0x89, 0x80 | 125, 0, 0, 0, 0]), Buffer.alloc(125, "p")]);

/** A WebSocket that nobody reads. */
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
	it("is read again only when all who held it back have released it", async () => {
		const { port, accepted } = await serve();
		await openRaw(port);
		const socket = accepted();
		if (!socket) throw new Error("nothing was accepted");
		const first = holdBack(socket);
		const second = holdBack(socket);
		first();
		first();
		expect(socket.isPaused).toBe(true);
		second();
		expect(socket.isPaused).toBe(false);
	});

	it("answers a ping with what it carried", async () => {
		const { port } = await serve();
		const client = new WebSocket(`ws://127.0.0.1:${port}/`);
		onTestFinished(() => client.terminate());
		await once(client, "open");
		client.ping("are you there?");
		expect(String((await once(client, "pong"))[0])).toBe("are you there?");
	});

	it("has one pong on its way to who does not read, however many pings it sends, and reads them at its leisure", async () => {
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
