/** Connects to a server over its Unix socket, for requests and WebSockets. */

import { type IncomingHttpHeaders, request } from "node:http";
import { createConnection } from "node:net";
import { Readable } from "node:stream";
import type { ServerAddress } from "../index.ts";

/** URLs stay the same, only the connection uses the socket. */
export function unixSocketTransport(path: string): Required<Pick<ServerAddress, "fetch" | "createConnection">> {
	return {
		fetch: (input, init) => fetchOver(path, new URL(String(input)), init),
		createConnection: () => createConnection(path),
	};
}

function fetchOver(path: string, { host, pathname, search }: URL, init: RequestInit = {}): Promise<Response> {
	const { method = "GET", body, signal } = init;
	const headers = { ...Object.fromEntries(new Headers(init.headers)), host };
	const options = { socketPath: path, agent: false, path: pathname + search, method, headers };
	return new Promise((resolve, reject) => {
		const sent = request({ ...options, ...(signal ? { signal } : {}) }, (answer) => {
			const { statusCode: status = 0 } = answer;
			// Responses with these statuses must have no body.
			const isEmpty = status === 204 || status === 304;
			if (isEmpty) answer.resume();
			const content = isEmpty ? null : (Readable.toWeb(answer) as ReadableStream<Uint8Array>);
			resolve(new Response(content, { status, headers: headersOf(answer.headers) }));
		});
		sent.on("error", reject);
		sent.end(body instanceof Uint8Array ? body : (body?.toString() ?? ""));
	});
}

function headersOf(received: IncomingHttpHeaders): Headers {
	const headers = new Headers();
	for (const [name, value] of Object.entries(received)) {
		for (const one of [value].flat()) if (one !== undefined) headers.append(name, one);
	}
	return headers;
}
