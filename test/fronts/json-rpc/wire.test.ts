import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { expect, it, onTestFinished } from "vitest";
import { WebSocket, WebSocketServer } from "ws";
import { RpcWebSocketWire } from "../../../src/fronts/json-rpc/wire.ts";
import { Backlog } from "../../../src/http/limits/backlog.ts";
import { FairScheduler } from "../../../src/http/limits/fair-share.ts";
import { eventually } from "../../support/reading.ts";

const MiB = 1024 * 1024;
const limits = { pingMs: 30_000, probeMs: 5_000 };

/** Connections to one server: the test's end of each, and the sizes of its messages. */
async function connected() {
	const server = new WebSocketServer({ port: 0, host: "127.0.0.1", allowSynchronousEvents: false });
	onTestFinished(() => void server.close());
	await once(server, "listening");
	const common = { limits, backlog: new Backlog(), share: new FairScheduler() };
	return async () => {
		const client = new WebSocket(`ws://127.0.0.1:${(server.address() as AddressInfo).port}`);
		onTestFinished(() => client.terminate());
		const [socket, { socket: connection }] = await once(server, "connection");
		const wire = new RpcWebSocketWire({ socket, connection, ...common });
		const lengths: number[] = [];
		wire.deliver({ receive: ({ byteLength }) => void lengths.push(byteLength) });
		await once(client, "open");
		return { client, wire, lengths };
	};
}

it("a large message waits while much of its connection is buffered, and a small one does not", async () => {
	const open = await connected();
	const [one, other] = [await open(), await open()];
	one.wire.keep(9 * MiB);
	one.client.send("small");
	one.client.send(Buffer.alloc(MiB));
	await eventually("the small one", () => one.lengths.length > 0);
	// The first one would have arrived by then as well.
	other.client.send(Buffer.alloc(4 * MiB));
	await eventually("the other's message", () => other.lengths.length > 0);
	expect(one.lengths).toEqual([5]);
	one.wire.keep(-9 * MiB);
	await eventually("the large one", () => one.lengths.length > 1);
	expect(one.lengths).toEqual([5, MiB]);
});
