import { once } from "node:events";
import { connect } from "node:net";
import { beforeEach, describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import { ExecClient, startParams } from "./support/exec-client.ts";
import { type Exec, sh, startExec } from "./support/exec-harness.ts";
import { openLink, openSocket } from "./support/exec-link.ts";

let exec: Exec;
beforeEach(async () => {
	exec = await startExec();
});

async function statusOf(path: string, init: RequestInit = {}): Promise<number> {
	return (await fetch(`${exec.httpUrl}${path}`, init)).status;
}

/** The answer to a refused upgrade. */
async function refusalOf(path: string, headers: Record<string, string> = {}): Promise<number | undefined> {
	const socket = new WebSocket(`${exec.url}${path}`, { headers });
	socket.on("error", () => {});
	const [, response] = (await once(socket, "unexpected-response")) as [unknown, { statusCode?: number }];
	return response.statusCode;
}

describe("the listener", () => {
	it("H1: /readyz answers 200 with an empty body, and 405 to other methods", async () => {
		const response = await fetch(`${exec.httpUrl}/readyz`);
		expect([response.status, await response.text()]).toEqual([200, ""]);
		expect(await statusOf("/readyz", { method: "POST" })).toBe(405);
	});

	it("W3: a request with an origin is refused on every path", async () => {
		const origin = { origin: "http://localhost" };
		expect(await statusOf("/readyz", { headers: origin })).toBe(403);
		expect(await statusOf("/elsewhere", { headers: origin })).toBe(403);
		expect(await refusalOf("/", origin)).toBe(403);
	});

	it("the root answers 405 to every method except GET, including HEAD", async () => {
		for (const method of ["HEAD", "POST", "OPTIONS"]) expect(await statusOf("/", { method })).toBe(405);
	});

	it("only the root is served, with any query", async () => {
		expect(await statusOf("/")).toBe(400);
		expect(await statusOf("/foo")).toBe(404);
		expect(await refusalOf("/foo")).toBe(404);
		const client = exec.watch(await ExecClient.open(`${exec.url}/?a=1`));
		expect(await client.request("environment/status")).toEqual({ status: "ready" });
	});

	it("no offered subprotocol or extension is negotiated", async () => {
		const socket = new WebSocket(exec.url, { perMessageDeflate: true });
		await once(socket, "open");
		expect([socket.extensions, socket.protocol]).toEqual(["", ""]);
		socket.terminate();
	});
});

describe("messages", () => {
	it("W1: an unreadable message is answered with id -1, and the connection continues", async () => {
		const client = exec.watch(new ExecClient(await openLink(exec.url)));
		client.send("not-json");
		const answer = await client.message(({ id }) => id === -1);
		expect(answer).toEqual({
			id: -1,
			error: {
				code: -32600,
				message: expect.stringMatching(
					/^failed to parse websocket JSON-RPC message from exec-server websocket 127\.0\.0\.1:\d+: ./,
				),
			},
		});
		await client.handshake();
	});

	it("W2: messages may be binary frames", async () => {
		const socket = await openSocket(exec.url);
		socket.send(Buffer.from('{"id":1,"method":"initialize","params":{"clientName":"x"}}'));
		const [answer, isBinary] = (await once(socket, "message")) as [Buffer, boolean];
		expect(JSON.parse(answer.toString())).toHaveProperty("result.sessionId");
		expect(isBinary).toBe(false);
		socket.send(Buffer.from([0xff, 0xfe, 0x7b]));
		const [refusal] = (await once(socket, "message")) as [Buffer];
		expect(JSON.parse(refusal.toString())).toMatchObject({ id: -1, error: { code: -32600 } });
		socket.terminate();
	});

	it("an answer's id keeps its type and all its digits", async () => {
		const socket = await openSocket(exec.url);
		socket.send('{"id":9007199254740993,"method":"no"}');
		const [first] = (await once(socket, "message")) as [Buffer];
		expect(first.toString()).toMatch(/"id":9007199254740993\}$/);
		socket.send('{"id":"1","method":"no"}');
		const [second] = (await once(socket, "message")) as [Buffer];
		expect(second.toString()).toMatch(/"id":"1"\}$/);
		socket.terminate();
	});

	it("a message above 64 MiB ends the connection, and one below does not", async () => {
		const small = await startExec({ limits: { messageBytes: 1000 } });
		const client = await small.client();
		expect(await client.write("unknown", "x".repeat(500), "1")).toBe("unknownProcess");
		client.write("unknown", "x".repeat(1000), "2").catch(() => {});
		await client.disconnected();
	});
});

describe("a connection", () => {
	it("the server pings, and ignores unsolicited pongs", async () => {
		const quick = await startExec({ limits: { pingMs: 20 } });
		const socket = await openSocket(quick.url);
		const [payload] = (await once(socket, "ping")) as [Buffer];
		expect(payload).toHaveLength(0);
		socket.pong("unasked");
		await once(socket, "ping");
		expect(socket.readyState).toBe(WebSocket.OPEN);
		socket.terminate();
	});

	it("a dead connection is detected when its client resumes on another", async () => {
		const quick = await startExec({ limits: { probeMs: 50 } });
		const client = await quick.client();
		const log = await client.start("p", sh("read x; echo $x"), { pipeStdin: true });
		// The old socket still exists, but nothing reads it, as after a network that failed silently.
		const { url } = quick;
		const dead = await deadClient(url, client.sessionId ?? "", () => client.cut());
		const back = quick.watch(new ExecClient());
		back.sessionId = client.sessionId;
		back.processes.set("p", log);
		await back.recover(() => openLink(url));
		expect(await back.write("p", "here\n", "1")).toBe("accepted");
		expect((await log.closed()).text()).toBe("here\n");
		dead.destroy();
	});

	it("an answer above the frame limit becomes an error", async () => {
		const small = await startExec({ limits: { answerBytes: 1000 } });
		const client = await small.client();
		const read = client.request("fs/readFile", { path: import.meta.url });
		await expect(read).rejects.toMatchObject({ code: -32603, message: "the answer is larger than 1000 bytes" });
		expect(await client.request("environment/status")).toEqual({ status: "ready" });
	});

	it("a client may connect and disconnect without a message", async () => {
		for (let i = 0; i < 20; i++) {
			const client = await exec.client();
			client.request("process/start", startParams(`p${i}`, ["true"])).catch(() => {});
			client.cut();
		}
		const tcp = connect(Number(new URL(exec.httpUrl).port), "127.0.0.1");
		tcp.end("GET / HTTP/1.1\r\nHost: x\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n");
		const [data] = (await once(tcp, "data")) as [Buffer];
		expect(data.toString()).toMatch(/^HTTP\/1\.1 400 /);
		expect(await statusOf("/readyz")).toBe(200);
	});
});

/** Takes over a session on a connection that answers nothing, not even a ping. */
async function deadClient(url: string, session: string, leave: () => void) {
	leave();
	for (;;) {
		const socket = new WebSocket(url, { autoPong: false });
		await once(socket, "open");
		socket.send(
			JSON.stringify({ id: 1, method: "initialize", params: { clientName: "dead", resumeSessionId: session } }),
		);
		const [data] = (await once(socket, "message")) as [Buffer];
		if (data.includes("sessionId")) return { destroy: () => socket.terminate() };
		socket.terminate();
	}
}
