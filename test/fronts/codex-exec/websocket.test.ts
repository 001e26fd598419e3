import { once } from "node:events";
import { connect } from "node:net";
import { beforeEach, describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import { ExecClient, startParams } from "./exec-client.ts";
import { type Exec, sh, startExec } from "./exec-harness.ts";
import { openLink, openSocket } from "./exec-link.ts";

let exec: Exec;
beforeEach(async () => {
	exec = await startExec();
});

async function statusOf(path: string, init: RequestInit = {}): Promise<number> {
	return (await fetch(`${exec.httpUrl}${path}`, init)).status;
}

/** What an upgrade that is refused is answered with. */
async function refusalOf(path: string, headers: Record<string, string> = {}): Promise<number | undefined> {
	const socket = new WebSocket(`${exec.url}${path}`, { headers });
	socket.on("error", () => {});
	const [, response] = (await once(socket, "unexpected-response")) as [unknown, { statusCode?: number }];
	return response.statusCode;
}

describe("the listener", () => {
	it("H1: /readyz answers 200 with nothing, and 405 to other methods", async () => {
		const response = await fetch(`${exec.httpUrl}/readyz`);
		expect([response.status, await response.text()]).toEqual([200, ""]);
		expect(await statusOf("/readyz", { method: "POST" })).toBe(405);
	});

	it("W3: refuses whoever sends an origin, wherever to", async () => {
		const origin = { origin: "http://localhost" };
		expect(await statusOf("/readyz", { headers: origin })).toBe(403);
		expect(await statusOf("/elsewhere", { headers: origin })).toBe(403);
		expect(await refusalOf("/", origin)).toBe(403);
	});

	it("answers 405 to every method of the root but GET, HEAD among them", async () => {
		for (const method of ["HEAD", "POST", "OPTIONS"]) expect(await statusOf("/", { method })).toBe(405);
	});

	it("serves the root alone, whatever its query", async () => {
		expect(await statusOf("/")).toBe(400);
		expect(await statusOf("/foo")).toBe(404);
		expect(await refusalOf("/foo")).toBe(404);
		const client = exec.watch(await ExecClient.open(`${exec.url}/?a=1`));
		expect(await client.request("environment/status")).toEqual({ status: "ready" });
	});

	it("negotiates nothing that is offered", async () => {
		const socket = new WebSocket(exec.url, { perMessageDeflate: true });
		await once(socket, "open");
		expect([socket.extensions, socket.protocol]).toEqual(["", ""]);
		socket.terminate();
	});
});

describe("messages", () => {
	it("W1: what can't be read is answered by id -1, and the connection goes on", async () => {
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

	it("W2: come in binary frames as well", async () => {
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

	it("answers an id with its type and all its digits", async () => {
		const socket = await openSocket(exec.url);
		socket.send('{"id":9007199254740993,"method":"no"}');
		const [first] = (await once(socket, "message")) as [Buffer];
		expect(first.toString()).toMatch(/"id":9007199254740993\}$/);
		socket.send('{"id":"1","method":"no"}');
		const [second] = (await once(socket, "message")) as [Buffer];
		expect(second.toString()).toMatch(/"id":"1"\}$/);
		socket.terminate();
	});

	it("of more than 64 MiB end the connection, and one below it does not", async () => {
		const small = await startExec({ limits: { messageBytes: 1000 } });
		const client = await small.client();
		expect(await client.write("nobody", "x".repeat(500), "1")).toBe("unknownProcess");
		client.write("nobody", "x".repeat(1000), "2").catch(() => {});
		await client.disconnected();
	});
});

describe("a connection", () => {
	it("is pinged, and its pongs are ignored", async () => {
		const quick = await startExec({ limits: { pingMs: 20 } });
		const socket = await openSocket(quick.url);
		const [payload] = (await once(socket, "ping")) as [Buffer];
		expect(payload).toHaveLength(0);
		socket.pong("unasked");
		await once(socket, "ping");
		expect(socket.readyState).toBe(WebSocket.OPEN);
		socket.terminate();
	});

	it("that is dead is found out when its client comes back on another", async () => {
		const quick = await startExec({ limits: { probeMs: 50 } });
		const client = await quick.client();
		const log = await client.start("p", sh("read x; echo $x"), { pipeStdin: true });
		// The old socket is still there, but nobody reads it: as after a network that went away without a word.
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

	it("answers what is larger than a frame may be with an error", async () => {
		const small = await startExec({ limits: { answerBytes: 1000 } });
		const client = await small.client();
		const read = client.request("fs/readFile", { path: import.meta.url });
		await expect(read).rejects.toMatchObject({ code: -32603, message: "the answer is larger than 1000 bytes" });
		expect(await client.request("environment/status")).toEqual({ status: "ready" });
	});

	it("may come and go without a word", async () => {
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
