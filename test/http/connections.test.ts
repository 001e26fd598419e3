import { once } from "node:events";
import { readFileSync } from "node:fs";
import { Agent, request as httpRequest } from "node:http";
import { Agent as TlsAgent, request as tlsRequest } from "node:https";
import { connect, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import { fileURLToPath } from "node:url";
import { expect, it, onTestFinished } from "vitest";
import { bearer } from "../../src/http/caller.ts";
import type { Front } from "../../src/http/front.ts";
import { networkOf } from "../../src/http/limits/connections.ts";
import { type Listener, type ListenOptions, listen } from "../../src/http/listen.ts";
import { principalWith } from "../support/native-server.ts";

const fixture = (name: string) => readFileSync(fileURLToPath(new URL(`../fixtures/${name}`, import.meta.url)), "utf8");
const tls = { cert: fixture("tls-cert.pem"), key: fixture("tls-key.pem") };

/** Answers with the caller's name, or never. */
const front: Front = {
	name: "small",
	credential: bearer,
	register(app) {
		app.get("/me", { config: { policy: "read" } }, async ({ principal }) => principal?.name);
		app.get("/wait", { config: { policy: "read" } }, () => new Promise(() => {}));
	},
};

async function serve(options: Partial<ListenOptions> = {}): Promise<Listener> {
	const listener = await listen({
		host: "127.0.0.1",
		port: 0,
		fronts: [front],
		// Callers are identified by their credential.
		authorize: async ({ credential = "anonymous" }) => principalWith(["read"], { id: credential, name: credential }),
		maxConnections: 16,
		report: (problem) => expect.unreachable(String(problem)),
		...options,
	});
	onTestFinished(() => listener.close());
	return listener;
}

/** Opens anonymous connections one after the other. */
async function strangers({ port }: Listener, count: number): Promise<Socket[]> {
	const sockets: Socket[] = [];
	for (let index = 0; index < count; index++) {
		const socket = connect(port, "127.0.0.1");
		socket.on("error", () => {});
		onTestFinished(() => void socket.destroy());
		await once(socket, "connect");
		sockets.push(socket);
	}
	return sockets;
}

/** A client with one persistent connection. */
function client(listener: Listener, name: string): { ask(path?: string): Promise<number> } {
	const isTls = listener.url.startsWith("https");
	const agent = isTls
		? new TlsAgent({ keepAlive: true, maxSockets: 1, rejectUnauthorized: false })
		: new Agent({ keepAlive: true, maxSockets: 1 });
	onTestFinished(() => agent.destroy());
	const ask = (path = "/me") =>
		new Promise<number>((resolve, reject) => {
			const options = { agent, headers: { authorization: `Bearer ${name}` } };
			(isTls ? tlsRequest : httpRequest)(`${listener.url}${path}`, options, (response) => {
				response.resume();
				response.once("end", () => resolve(response.statusCode ?? 0));
			})
				.on("error", reject)
				.end();
		});
	return { ask };
}

const isOpen = (socket: Socket) => !socket.destroyed && !socket.readableEnded;

it.each([
	["", {}],
	[" over TLS", { tls }],
])(
	"anonymous connections at their limit do not lock out other clients%s; the oldest of them is closed",
	async (_, options) => {
		const listener = await serve(options);
		const first = client(listener, "first");
		expect(await first.ask()).toBe(200);
		const idle = await strangers(listener, 20);
		for (const socket of idle) socket.resume();
		expect(await client(listener, "second").ask()).toBe(200);
		await expect.poll(() => idle.filter(isOpen).length).toBe(3);
		expect(idle.slice(-3).every(isOpen)).toBe(true);
		// Authenticated connections are not affected.
		expect(await first.ask()).toBe(200);
	},
);

it("the account with the most connections loses one to a newcomer, idle connections first", async () => {
	const listener = await serve();
	const many = Array.from({ length: 12 }, () => client(listener, "many"));
	for (const one of many) expect(await one.ask()).toBe(200);
	const waiting = many[0]?.ask("/wait");
	let isOver = false;
	waiting?.catch(() => {
		isOver = true;
	});
	for (let index = 0; index < 5; index++) expect(await client(listener, "few").ask()).toBe(200);
	expect(isOver).toBe(false);
});

it("an account with the most connections, all of them busy, gets no further one", async () => {
	const listener = await serve();
	for (let index = 0; index < 12; index++) {
		client(listener, "many")
			.ask("/wait")
			.catch(() => {});
	}
	await expect.poll(() => client(listener, "many").ask()).toBe(429);
	expect(await client(listener, "few").ask()).toBe(200);
});

it("a client from another address does not wait for the TLS handshakes of an earlier crowd", async () => {
	const { port } = await serve({ tls, maxConnections: 400, handshakeRate: { perSecond: 20, burst: 1 } });
	const dial = (localAddress: string) => {
		const socket = connectTls({ port, host: "127.0.0.1", rejectUnauthorized: false, ...{ localAddress } });
		socket.on("error", () => {});
		onTestFinished(() => void socket.destroy());
		return once(socket, "secureConnect");
	};
	let done = 0;
	const crowd = Array.from({ length: 60 }, () => dial("127.0.0.2").then(() => ++done));
	await Promise.race(crowd);
	await dial("127.0.0.3");
	expect(done).toBeLessThan(30);
});

it.each([
	["192.0.2.7", "192.0.2.7"],
	["::ffff:192.0.2.7", "::ffff:192.0.2.7"],
	["2001:db8:1:2:3:4:5:6", "2001:db8:1:2"],
	["2001:db8:1:2::", "2001:db8:1:2"],
	["2001:db8::6", "2001:db8:0:0"],
	["::1", "0:0:0:0"],
	["fe80::1%eth0", "fe80:0:0:0"],
	["", ""],
])("%s counts as one network with all of %s", (address, network) => {
	expect(networkOf(address)).toBe(network);
});
