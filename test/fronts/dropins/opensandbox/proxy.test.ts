/** `/proxy/{port}/…`: servers on other ports, and this server itself, through execd. */

import { once } from "node:events";
import { createServer, request as httpRequest, type IncomingMessage, type RequestListener } from "node:http";
import { type AddressInfo, connect as connectTo, createServer as createTcpServer } from "node:net";
import { ConnectionConfig, DefaultAdapterFactory } from "@alibaba-group/opensandbox";
import { expect, onTestFinished, test } from "vitest";
import { WebSocket, WebSocketServer } from "ws";
import { eventually } from "../../../support/reading.ts";
import { start } from "../../../support/server.ts";
import { staysTheSame } from "../../../support/standstill.ts";
import { startExecd } from "./support/execd-server.ts";

const TOKEN = "secret-token";

/** A server on its own port. Returns the port. */
async function behind(listener: RequestListener, prepare?: (server: ReturnType<typeof createServer>) => void) {
	const server = createServer(listener);
	prepare?.(server);
	server.listen(0, "127.0.0.1");
	await once(server, "listening");
	onTestFinished(() => {
		server.closeAllConnections();
		server.close();
	});
	return (server.address() as AddressInfo).port;
}

/** Sends these bytes to each client and nothing else. Returns the port. */
async function saying(answer: string): Promise<number> {
	const server = createTcpServer((socket) => {
		socket.on("error", () => {});
		socket.once("data", () => socket.write(answer, "latin1"));
		onTestFinished(() => void socket.destroy());
	});
	server.listen(0, "127.0.0.1");
	await once(server, "listening");
	onTestFinished(() => void server.close());
	return (server.address() as AddressInfo).port;
}

const echo: RequestListener = (request, response) => {
	response.setHeader("x-seen", JSON.stringify({ method: request.method, url: request.url, headers: request.headers }));
	response.setHeader("set-cookie", ["a=1", "b=2"]);
	response.writeHead(request.url?.startsWith("/teapot") ? 418 : 200, "Fine");
	request.pipe(response);
};

type Seen = { method: string; url: string; headers: Record<string, string> };
const seenBy = (response: Response) => JSON.parse(response.headers.get("x-seen") ?? "null") as Seen;

test("a request is proxied with its method, path, query, headers and body, and so is the answer", async () => {
	const server = await startExecd({ accessToken: TOKEN });
	const port = await behind(echo);
	const response = await server.request(`/proxy/${port}/teapot/a%20b/?x=1&y=%2F`, {
		method: "PUT",
		headers: { "x-mine": "kept", "content-type": "strange/type; q" },
		body: "the body",
	});
	expect([response.status, response.statusText, await response.text()]).toEqual([418, "Fine", "the body"]);
	expect(response.headers.getSetCookie()).toEqual(["a=1", "b=2"]);
	expect(response.headers.get("content-security-policy")).toBeNull();
	const { method, url, headers } = seenBy(response);
	expect([method, url]).toEqual(["PUT", "/teapot/a%20b/?x=1&y=%2F"]);
	expect(headers).toMatchObject({
		host: new URL(server.url).host,
		"x-mine": "kept",
		"content-type": "strange/type; q",
		"x-forwarded-for": "127.0.0.1",
		"x-forwarded-proto": "http",
	});
	expect(headers).not.toHaveProperty("x-execd-access-token");
	for (const path of ["", "/", "/?q=1"]) {
		const { url } = seenBy(await server.request(`/proxy/${port}${path}`));
		expect(url).toBe(path === "" ? "/" : path);
	}
});

test("hop-by-hop headers stay on their connection, including those that Connection names", async () => {
	const server = await startExecd();
	const port = await behind((request, response) => {
		response.setHeader("keep-alive", "timeout=77");
		response.setHeader("x-hop", "of the answer");
		response.setHeader("connection", "close, x-hop");
		response.end(JSON.stringify(request.headers));
	});
	const { headers, text } = await ask(`${server.url}/proxy/${port}/`, {
		headers: {
			connection: "keep-alive, x-secret",
			"x-secret": "1",
			te: "trailers",
			"proxy-authorization": "x",
			a: "b",
		},
	});
	const seen = JSON.parse(text) as Record<string, string>;
	expect(seen).toMatchObject({ a: "b", connection: "close" });
	for (const name of ["x-secret", "te", "proxy-authorization", "keep-alive"]) expect(seen).not.toHaveProperty(name);
	expect(headers).not.toHaveProperty("x-hop");
	expect(headers["keep-alive"]).not.toBe("timeout=77");
});

test("a body stays a body, whatever headers its request declares as hop-by-hop", async () => {
	const server = await startExecd();
	const urls: (string | undefined)[] = [];
	const port = await behind((request, response) => {
		urls.push(request.url);
		echo(request, response);
	});
	const hidden = "GET /hidden HTTP/1.1\r\nHost: x\r\n\r\n";
	const request = httpRequest(`${server.url}/proxy/${port}/seen`, {
		headers: { connection: "close, content-length, host, transfer-encoding", "content-length": hidden.length },
	});
	request.end(hidden);
	const [response] = (await once(request, "response")) as [IncomingMessage];
	let text = "";
	for await (const chunk of response) text += String(chunk);
	const { headers } = JSON.parse(String(response.headers["x-seen"])) as Seen;
	expect(headers).toMatchObject({ host: new URL(server.url).host, "content-length": String(hidden.length) });
	expect([text, urls]).toEqual([hidden, ["/seen"]]);
});

test("the server's cookie is sent to no other port, and no other port sets or clears the server's cookie", async () => {
	const server = await start();
	const set = [
		"hawser_session=evil; Path=/",
		"a=1",
		"=hawser_session=evil",
		"__Host-hawser_session=evil; Secure; Path=/",
		"hawser_session_0123abcd=evil; Path=/",
		"hawser_session_2=b",
	];
	const port = await behind(
		(request, response) => {
			response.setHeader("set-cookie", set);
			response.setHeader("clear-site-data", '"cookies"');
			response.end(String(request.headers.cookie));
		},
		(one) =>
			one.on("upgrade", (_, socket) => {
				const lines = set.map((cookie) => `set-cookie: ${cookie}\r\n`).join("");
				socket.end(`HTTP/1.1 101 Sw\r\nconnection: upgrade\r\nupgrade: websocket\r\n${lines}\r\n`);
			}),
	);
	const url = `${server.url}/opensandbox/proxy/${port}/`;
	const token = { "x-execd-access-token": server.adminToken };
	const cookie = "b=2; hawser_session_0123abcd=secret; __Host-hawser_session_0123abcd=secret;c=3";
	const { headers, text } = await ask(url, { headers: { ...token, cookie } });
	expect(text).toBe("b=2; c=3");
	expect(headers).not.toHaveProperty("clear-site-data");
	expect(headers["set-cookie"]).toEqual(["a=1", "hawser_session_2=b"]);
	const alone = await ask(url, { headers: { ...token, cookie: "hawser_session=secret" } });
	expect(alone.text).toBe("undefined");
	const socket = new WebSocket(url.replace("http", "ws"), { headers: token });
	socket.on("error", () => {});
	const [upgraded] = (await once(socket, "upgrade")) as [IncomingMessage];
	expect(upgraded.headers["set-cookie"]).toEqual(["a=1", "hawser_session_2=b"]);
});

test("the proxy answers 502 where nothing listens, 400 without a port, 401 without the token", async () => {
	const server = await startExecd({ accessToken: TOKEN });
	// The local port of a connection has no listener, and can't get one while the connection exists.
	const connection = connectTo(Number(new URL(server.url).port), "127.0.0.1");
	onTestFinished(() => void connection.destroy());
	await once(connection, "connect");
	const port = connection.localPort;
	const down = await server.request(`/proxy/${port}/`);
	expect([down.status, await down.text()]).toEqual([502, "Bad Gateway"]);
	for (const path of ["/proxy", "/proxy/", "/proxy/0/", "/proxy/abc/", "/proxy/65536/x", "/proxy/?x"])
		expect([path, (await server.request(path)).status]).toEqual([path, 400]);
	const stranger = await server.request(`/proxy/${port}/`, { headers: { "x-execd-access-token": "wrong" } });
	expect(stranger.status).toBe(401);
	expect(server.problems).toEqual([]);
});

test.each([
	["a status of 000", "HTTP/1.1 000 Zero\r\ncontent-length: 2\r\n\r\nhi"],
	["a status below 100", "HTTP/1.1 099 Low\r\ncontent-length: 2\r\n\r\nhi"],
	["a control character in the reason", "HTTP/1.1 200 O\x01K\r\ncontent-length: 2\r\n\r\nhi"],
	["a control character in a header", "HTTP/1.1 200 OK\r\nx-odd: a\x01b\r\ncontent-length: 2\r\n\r\nhi"],
	["a delete character in a header", "HTTP/1.1 200 OK\r\ncontent-length: 2\r\nx-odd: a\x7fb\r\n\r\nhi"],
	["an unrequested upgrade", "HTTP/1.1 101 Sw\r\nconnection: upgrade\r\nupgrade: odd\r\n\r\n"],
	["an upgrade to nothing", "HTTP/1.1 101 Sw\r\n\r\n"],
	["no HTTP at all", "SSH-2.0-odd\r\n"],
])("the proxy answers 502 for a response that can't be passed on: %s", async (_, answer) => {
	const server = await startExecd();
	const response = await server.request(`/proxy/${await saying(answer)}/`);
	expect([response.status, response.statusText, await response.text()]).toEqual([502, "Bad Gateway", "Bad Gateway"]);
	expect((await server.request("/ping")).status).toBe(200);
	expect(server.problems).toEqual([]);
});

test("the proxy answers 502 for a WebSocket whose response is an upgrade to nothing", async () => {
	const server = await startExecd();
	const port = await saying("HTTP/1.1 101 Sw\r\n\r\n");
	const socket = new WebSocket(`${server.url.replace("http", "ws")}/proxy/${port}/`);
	socket.on("error", () => {});
	const [, response] = (await once(socket, "unexpected-response")) as [unknown, IncomingMessage];
	expect(response.statusCode).toBe(502);
	socket.terminate();
});

test("the proxy answers 400 for a request with two hosts", async () => {
	const server = await startExecd();
	const { port } = new URL(server.url);
	const host = `Host: 127.0.0.1:${port}\r\n`;
	for (const to of [await behind(echo), port]) {
		const client = connectTo(Number(port), "127.0.0.1");
		onTestFinished(() => void client.destroy());
		client.write(`GET /proxy/${to}/ping HTTP/1.1\r\n${host}${host}Connection: close\r\n\r\n`);
		let text = "";
		for await (const chunk of client) text += String(chunk);
		expect([to, text.split("\r\n")[0]]).toEqual([to, "HTTP/1.1 400 Bad Request"]);
	}
	expect(server.problems).toEqual([]);
});

test("the published SDK works through the proxy to the server itself, as OpenSandbox's server arranges it", async () => {
	const server = await startExecd({ accessToken: TOKEN });
	const connectionConfig = new ConnectionConfig({
		headers: { "X-EXECD-ACCESS-TOKEN": TOKEN },
	}).withTransportIfMissing();
	onTestFinished(() => connectionConfig.closeTransport());
	const execdBaseUrl = `${server.url}/proxy/${new URL(server.url).port}`;
	const { commands, health } = new DefaultAdapterFactory().createExecdStack({ connectionConfig, execdBaseUrl });
	await health.ping();
	const { logs, exitCode } = await commands.run("echo hello; exit 3");
	expect([logs.stdout.map(({ text }) => text), exitCode]).toEqual([["hello"], 3]);
	const session = await commands.createSession();
	await commands.deleteSession(session);
});

test("the proxy to the server itself without a token applies the same origin and host checks again", async () => {
	const server = await startExecd();
	const { port } = new URL(server.url);
	expect((await server.request(`/proxy/${port}/ping`, { headers: { origin: server.url } })).status).toBe(200);
	expect((await server.request(`/proxy/${port}/ping`, { headers: { origin: "http://evil.test" } })).status).toBe(403);
	expect((await ask(`${server.url}/proxy/${port}/ping`, { headers: { host: "evil.test" } })).status).toBe(403);
});

test("a proxy loop ends after a few rounds", async () => {
	const server = await startExecd();
	const round = `/proxy/${new URL(server.url).port}`;
	expect((await server.request(`${round.repeat(3)}/ping`)).status).toBe(200);
	expect((await server.request(`${round.repeat(50)}/ping`)).status).toBe(508);
});

test("proxied events arrive when they are sent, and a client that leaves ends the proxied request", async () => {
	const server = await startExecd();
	let isOver = false;
	let send = (_text: string) => {};
	const port = await behind((request, response) => {
		response.writeHead(200, { "content-type": "text/event-stream" });
		send = (text) => void response.write(text);
		request.once("close", () => {
			isOver = true;
		});
		response.flushHeaders();
	});
	const leaving = new AbortController();
	const response = await server.request(`/proxy/${port}/events`, { signal: leaving.signal });
	expect(response.headers.get("content-type")).toBe("text/event-stream");
	const reader = response.body?.getReader();
	for (const text of ["data: one\n\n", "data: two\n\n"]) {
		send(text);
		expect(Buffer.from((await reader?.read())?.value ?? []).toString()).toBe(text);
	}
	leaving.abort();
	await eventually("its end", () => isOver);
});

test("a closing server ends proxied connections on both sides", async () => {
	const server = await startExecd();
	const over: string[] = [];
	const sockets = new WebSocketServer({ noServer: true });
	const port = await behind(
		(request, response) => {
			request.once("close", () => over.push("events"));
			response.write("data: one\n\n");
		},
		(one) =>
			one.on("upgrade", (request, socket, head) => {
				socket.once("close", () => over.push("socket"));
				sockets.handleUpgrade(request, socket, head, () => {});
			}),
	);
	const response = await server.request(`/proxy/${port}/`);
	const socket = new WebSocket(`${server.url.replace("http", "ws")}/proxy/${port}/`);
	await once(socket, "open");
	const closed = once(socket, "close");
	await server.close();
	await closed;
	await expect(response.text()).rejects.toThrow();
	await eventually("the end of the proxied request", () => over.length === 2);
});

test("a truncated answer is truncated for the client", async () => {
	const server = await startExecd();
	const port = await behind((_request, response) => {
		response.write("the beginning");
		setImmediate(() => response.destroy());
	});
	const response = await server.request(`/proxy/${port}/`);
	await expect(response.text()).rejects.toThrow();
});

test("bodies of any size pass both ways at the reader's pace, with little memory", async () => {
	const server = await startExecd();
	const size = 200 * 1024 * 1024;
	let isReading = false;
	let received = 0;
	let resume = () => {};
	const port = await behind((request, response) => {
		request.pause();
		resume = () => {
			isReading = true;
			request.on("data", (chunk: Buffer) => {
				received += chunk.length;
			});
			request.on("end", () => response.end("all"));
			request.resume();
		};
	});
	const request = httpRequest(`${server.url}/proxy/${port}/`, { method: "POST" });
	const answered = once(request, "response") as Promise<[IncomingMessage]>;
	const block = Buffer.alloc(1024 * 1024);
	let sent = 0;
	let isStuck = false;
	const pump = () => {
		while (sent < size && !isStuck) {
			sent += block.length;
			isStuck = !request.write(block);
		}
		if (sent >= size) request.end();
	};
	request.on("drain", () => {
		isStuck = false;
		pump();
	});
	pump();
	// A side that does not read stalls the sender long before all of the body is in transit.
	await eventually("the sender to stall", () => staysTheSame(() => sent));
	expect(isReading).toBe(false);
	expect(sent).toBeLessThan(32 * 1024 * 1024);
	resume();
	const [response] = await answered;
	expect([response.statusCode, received]).toEqual([200, size]);
	response.resume();
}, 30_000);

test("a WebSocket is proxied with its subprotocol, text, bytes and its end from either side", async () => {
	const server = await startExecd({ accessToken: TOKEN });
	const sockets = new WebSocketServer({ noServer: true, handleProtocols: () => "two" });
	const opened: WebSocket[] = [];
	const seen: IncomingMessage[] = [];
	const port = await behind(echo, (one) =>
		one.on("upgrade", (request, socket, head) => {
			seen.push(request);
			sockets.handleUpgrade(request, socket, head, (ws) => {
				opened.push(ws);
				ws.on("message", (data, isBinary) => ws.send(data, { binary: isBinary }));
			});
		}),
	);
	const connect = async () => {
		const socket = new WebSocket(`${server.url.replace("http", "ws")}/proxy/${port}/ws?x=1`, ["one", "two"], {
			headers: { "x-execd-access-token": TOKEN },
		});
		await once(socket, "open");
		return socket;
	};
	const client = await connect();
	expect([client.protocol, seen[0]?.url]).toEqual(["two", "/ws?x=1"]);
	expect(seen[0]?.headers).not.toHaveProperty("x-execd-access-token");
	const large = Buffer.alloc(3 * 1024 * 1024, 7);
	client.send(large);
	expect(((await once(client, "message")) as [Buffer])[0].equals(large)).toBe(true);
	client.close(4321);
	await once(client, "close");
	await eventually("the end on the other side", () => opened[0]?.readyState === WebSocket.CLOSED);
	const other = await connect();
	opened[1]?.terminate();
	await once(other, "close");
});

test("a refused upgrade is passed on with the same answer", async () => {
	const server = await startExecd();
	const port = await behind(echo, (one) =>
		one.on("upgrade", (_request, socket) => socket.end("HTTP/1.1 403 No\r\ncontent-length: 4\r\n\r\nnope")),
	);
	const socket = new WebSocket(`${server.url.replace("http", "ws")}/proxy/${port}/`);
	socket.on("error", () => {});
	const [, response] = (await once(socket, "unexpected-response")) as [unknown, IncomingMessage];
	expect(response.statusCode).toBe(403);
	socket.terminate();
});

test("a PTY's WebSocket works through the proxy to the server itself", async () => {
	const server = await startExecd({ accessToken: TOKEN });
	const { session_id: id } = (await (await server.post("/pty", {})).json()) as { session_id: string };
	const { port } = new URL(server.url);
	const socket = new WebSocket(`ws://127.0.0.1:${port}/proxy/${port}/pty/${id}/ws`, {
		headers: { "x-execd-access-token": TOKEN },
	});
	onTestFinished(() => socket.terminate());
	let text = "";
	socket.on("message", (data: Buffer, isBinary) => {
		text += data.toString("latin1");
		if (!isBinary && text.includes("connected")) socket.send(Buffer.from("\0echo 4$((1+1))\n"));
	});
	await eventually("its output", () => text.includes("42\r\n"));
});

test("in hawser serve the proxy requires the right to run programs, and proxied pages have another origin", async () => {
	const server = await start();
	const port = await behind(echo);
	const ask = (token: string) =>
		fetch(`${server.url}/opensandbox/proxy/${port}/`, { headers: { "x-execd-access-token": token } });
	const response = await ask(server.adminToken);
	expect([response.status, seenBy(response).url]).toEqual([200, "/"]);
	expect(response.headers.get("content-security-policy")).toMatch(/^sandbox(?!.*allow-same-origin)/);
	expect((await ask(await server.token("workspace:default:manage"))).status).toBe(200);
	for (const scope of ["workspace:default:operate", "workspace:blue:manage"])
		expect([scope, (await ask(await server.token(scope))).status]).toEqual([scope, 403]);
	expect((await ask("wrong")).status).toBe(401);
});

async function ask(url: string, options: { headers: Record<string, string> }) {
	const request = httpRequest(url, options);
	request.end();
	const [response] = (await once(request, "response")) as [IncomingMessage];
	let text = "";
	for await (const chunk of response) text += String(chunk);
	return { status: response.statusCode, headers: response.headers, text };
}
