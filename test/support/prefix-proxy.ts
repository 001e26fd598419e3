/** A proxy that serves a server below a path. */

import { once } from "node:events";
import { createServer, request as httpRequest } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";

/** Forwards only requests below `/tools/hawser`. Returns its address with that path. */
export async function prefixProxy(target: string): Promise<string> {
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
