/** A server behind a proxy that serves it below a path. */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer, request as httpRequest } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, it, onTestFinished } from "vitest";
import { connect } from "../../src/client/index.ts";
import { main, result } from "../cli/hawser.ts";
import { start } from "../server/start.ts";

/** Passes on what is asked for below `/tools/hawser`, and nothing else. */
async function proxy(target: string): Promise<string> {
	const { hostname, port } = new URL(target);
	const at = "/tools/hawser";
	const path = (url = "") => (url.startsWith(`${at}/`) ? url.slice(at.length) : undefined);
	const server = createServer((request, response) => {
		const asked = path(request.url);
		if (asked === undefined) return response.writeHead(404).end();
		const { method, headers } = request;
		const passed = httpRequest({ hostname, port, path: asked, method, headers }, (answer) => {
			response.writeHead(answer.statusCode ?? 502, answer.headers);
			answer.pipe(response);
		});
		passed.on("error", () => response.destroy());
		return request.pipe(passed);
	});
	server.on("upgrade", (request, socket, head) => {
		const passed = httpRequest({ hostname, port, path: path(request.url) ?? "/", headers: request.headers });
		passed.on("upgrade", (answer, other) => {
			const lines = answer.rawHeaders.flatMap((name, index, all) => (index % 2 ? [] : [`${name}: ${all[index + 1]}`]));
			socket.write(`HTTP/1.1 101 Switching Protocols\r\n${lines.join("\r\n")}\r\n\r\n`);
			other.write(head);
			for (const [one, another] of [
				[socket, other],
				[other, socket],
			] as const) {
				one.on("error", () => another.destroy());
				one.on("close", () => another.destroy());
			}
			socket.pipe(other).pipe(socket);
		});
		passed.on("error", () => socket.destroy());
		passed.end();
	});
	server.listen(0, "127.0.0.1");
	await once(server, "listening");
	onTestFinished(() => {
		server.closeAllConnections();
		server.close();
	});
	return `http://127.0.0.1:${(server.address() as AddressInfo).port}${at}`;
}

it("signs a browser in below that path, and sends it nowhere else", async () => {
	const server = await start({ basePath: "/tools/hawser/" });
	expect(new URL(server.signInUrl ?? "").pathname).toBe("/tools/hawser/signin");
	const url = await proxy(server.url);
	const link = await connect({ url, token: server.adminToken }).signInLinks.create();
	expect(link.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/tools\/hawser\/signin\?code=/);
	expect(new URL(link.url).host).toBe(new URL(url).host);
	const headers = { origin: new URL(url).origin, "content-type": "application/x-www-form-urlencoded" };
	const page = await (await fetch(link.url, { method: "POST", headers })).text();
	const [, next = ""] = /location\.replace\("([^"]*)"\)/.exec(page) ?? [];
	expect(new URL(next, link.url).href).toBe(`${url}/`);
	await expect(start({ basePath: "tools" })).rejects.toThrow("--base-path: expected a path");
});

it.each(["", "/"])("is used by the SDK and by the commands under that path%s", async (slash) => {
	const server = await start();
	const url = (await proxy(server.url)) + slash;
	const { sessions } = connect({ url, token: server.adminToken });
	const session = await sessions.create({ argv: ["cat"], mode: "pipe", durable: false, name: "behind" });
	expect((await sessions.list()).map(({ id }) => id)).toEqual([session.id]);
	const attachment = session.attach();
	await attachment.write("hello");
	await attachment.eof();
	expect(await new Response(attachment.bytes).text()).toBe("hello");
	const env = {
		PATH: process.env.PATH,
		HAWSER_URL: url,
		HAWSER_TOKEN: server.adminToken,
		HAWSER_STATE_DIR: "/nowhere",
	};
	expect(await result(spawn(process.execPath, [main, "logs", "behind"], { env }))).toMatchObject({
		code: 0,
		stdout: "hello",
	});
});
