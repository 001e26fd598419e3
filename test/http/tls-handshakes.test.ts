/** The order in which TLS handshakes begin, on real connections from several addresses of this machine. */

import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { createServer } from "node:https";
import { type AddressInfo, connect, createServer as createTcpServer, type Server, type Socket } from "node:net";
import { text } from "node:stream/consumers";
import { connect as connectTls } from "node:tls";
import { describe, expect, it, onTestFinished } from "vitest";
import { Handshakes, limitHandshakes } from "../../src/http/tls-handshakes.ts";
import { FakeClock } from "../support/fake-clock.ts";

const CROWD = "127.0.0.2";
const OTHER = "127.0.0.3";
const ONE_A_SECOND = { perSecond: 1, burst: 1 };

async function portOf(server: Server): Promise<number> {
	server.listen(0, "0.0.0.0");
	onTestFinished(() => void server.close());
	await once(server, "listening");
	return (server.address() as AddressInfo).port;
}

/** A port with connections that wait for their handshake. */
async function waiting() {
	const begun: string[] = [];
	const clock = new FakeClock();
	const handshakes = new Handshakes(
		(connection) => {
			begun.push(`${connection.remoteAddress} ${connection.remotePort}`);
		},
		ONE_A_SECOND,
		clock,
	);
	const there = new Map<string, Socket>();
	const server = createTcpServer({ pauseOnConnect: true }, (connection) => {
		there.set(`${connection.remoteAddress} ${connection.remotePort}`, connection);
		connection.on("error", () => {});
		handshakes.add(connection);
	});
	const port = await portOf(server);
	const dial = async (localAddress: string) => {
		const socket = connect({ port, host: "127.0.0.1", localAddress });
		onTestFinished(() => void socket.destroy());
		await once(socket, "connect");
		const name = `${localAddress} ${socket.localPort}`;
		await expect.poll(() => there.has(name)).toBe(true);
		return name;
	};
	return { begun, clock, there, dial };
}

describe("TLS handshakes", () => {
	it("a handshake starts at once below the limit, then the newest of the address with the fewest", async () => {
		const { begun, clock, dial } = await waiting();
		const first = await dial(CROWD);
		const second = await dial(CROWD);
		const third = await dial(CROWD);
		expect(begun).toEqual([first]);
		const other = await dial(OTHER);
		clock.advance(1_000);
		expect(begun).toEqual([first, other]);
		clock.advance(1_000);
		clock.advance(1_000);
		expect(begun).toEqual([first, other, third, second]);
	});

	it("a closed connection does not use a handshake slot", async () => {
		const { begun, clock, there, dial } = await waiting();
		const first = await dial(CROWD);
		const second = await dial(CROWD);
		const third = await dial(CROWD);
		const gone = there.get(third) as Socket;
		gone.destroy();
		await once(gone, "close");
		clock.advance(1_000);
		expect(begun).toEqual([first, second]);
	});

	it("a delayed handshake keeps the bytes that the client already sent", async () => {
		const [cert, key] = await Promise.all(
			["cert", "key"].map((part) => readFile(new URL(`../fixtures/tls-${part}.pem`, import.meta.url))),
		);
		const server = createServer({ cert, key, pauseOnConnect: true }, (request, response) => {
			response.end(request.url);
		});
		limitHandshakes(server, { perSecond: 200, burst: 1 });
		const port = await portOf(server);
		const ask = async (path: string): Promise<string> => {
			const socket = connectTls({ port, host: "127.0.0.1", rejectUnauthorized: false });
			socket.write(`GET ${path} HTTP/1.1\r\nHost: here\r\nConnection: close\r\n\r\n`);
			return (await text(socket)).split("\r\n\r\n")[1] ?? "";
		};
		const paths = Array.from({ length: 40 }, (_, index) => `/${index}`);
		expect(await Promise.all(paths.map(ask))).toEqual(paths);
	});
});
