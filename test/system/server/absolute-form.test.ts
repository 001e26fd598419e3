import { once } from "node:events";
import { connect } from "node:net";
import { expect, it, onTestFinished } from "vitest";
import { socketHeaders, start } from "../../support/server.ts";

const upgrade = Object.entries(socketHeaders)
	.map(([name, value]) => `${name}: ${value}\r\n`)
	.join("");

it.each([
	["the same host", "http://localhost", "localhost", 200],
	["the same host in capitals", "HTTP://LOCALHOST", "localhost", 200],
	["the same foreign host", "http://evil.test", "evil.test", 403],
	["a foreign host behind one of ours", "http://evil.test", "localhost", 400],
	["our host behind a foreign one", "http://localhost", "evil.test", 400],
	["another port", "http://localhost:1", "localhost", 400],
	["a user before the host", "http://localhost@evil.test", "localhost", 400],
	["another scheme", "ftp://evil.test", "localhost", 400],
])("an absolute-form target is checked like the Host header: %s", async (_, target, host, status) => {
	const server = await start();
	for (const [path, more] of [
		["/healthz", ""],
		["/v1/sessions/none/attach", upgrade],
	] as const) {
		const socket = connect(Number(new URL(server.url).port), "127.0.0.1");
		onTestFinished(() => void socket.destroy());
		socket.write(`GET ${target}${path} HTTP/1.1\r\nhost: ${host}\r\n${more}\r\n`);
		const [answer] = (await once(socket, "data")) as [Buffer];
		const expected = status === 200 && more !== "" ? 401 : status;
		expect(answer.toString(), `${target}${path}`).toContain(`HTTP/1.1 ${expected} `);
		if (status === 400) expect(answer.toString()).toContain("the request names more than one host");
	}
});
