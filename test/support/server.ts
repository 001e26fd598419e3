/** The whole server as `hawser serve` starts it, in this process, on its own state directory. */

import { request as httpRequest } from "node:http";
import { onTestFinished } from "vitest";
import type { Route } from "../../src/http/listen.ts";
import { type Flags, loadConfig } from "../../src/server/config.ts";
import { type Server, type ServerOptions, startServer } from "../../src/server/server.ts";
import { temporaryDirectory } from "./temporary.ts";

export type Started = Server & {
	readonly stateDir: string;
	readonly routes: readonly Route[];
	/** Reported errors that concern no caller. */
	readonly problems: unknown[];
	/** A request as the operator, unless its headers override that. */
	request(path: string, init?: RequestInit): Promise<Response>;
	/** The same with a JSON body. Returns the answer's. */
	post(path: string, body: object, token?: string): Promise<{ status: number; body: Record<string, string> }>;
	/** A session in this process that waits for input. Returns its id. */
	session(workspace?: string): Promise<string>;
	/** A token with these scopes. */
	token(...scopes: string[]): Promise<string>;
};

export async function start(flags: Flags = {}, options: Partial<ServerOptions> = {}): Promise<Started> {
	const stateDir = await temporaryDirectory();
	const routes: Route[] = [];
	const problems: unknown[] = [];
	const server = await startServer(loadConfig({ port: "0", spares: "0", stateDir, ...flags }, {}), {
		report: (problem) => problems.push(problem),
		onRoute: (route) => routes.push(route),
		...options,
	});
	onTestFinished(() => server.close());
	const request = (path: string, init: RequestInit = {}) =>
		fetch(`${server.url}${path}`, {
			redirect: "manual",
			...init,
			headers: { authorization: `Bearer ${server.adminToken}`, ...init.headers },
		});
	const post: Started["post"] = async (path, body, token = server.adminToken) => {
		const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
		const response = await request(path, { method: "POST", headers, body: JSON.stringify(body) });
		return { status: response.status, body: (await response.json()) as Record<string, string> };
	};
	return {
		...server,
		stateDir,
		routes,
		problems,
		request,
		post,
		async session(workspace = "default") {
			const { status, body } = await post("/v1/sessions", { argv: ["cat"], workspace, durable: false });
			if (status !== 201) throw new Error(JSON.stringify(body));
			return String(body.id);
		},
		async token(...scopes) {
			return String((await post("/v1/tokens", { scopes })).body.token);
		},
	};
}

export type Asked = {
	readonly method: string;
	readonly path: string;
	readonly headers?: Record<string, string>;
	readonly body?: string | undefined;
	/** Whether to request an upgrade. */
	readonly isSocket?: boolean;
};

/** The headers of a WebSocket upgrade. */
export const socketHeaders = {
	connection: "upgrade",
	upgrade: "websocket",
	"sec-websocket-version": "13",
	"sec-websocket-key": "AAAAAAAAAAAAAAAAAAAAAA==",
	"sec-websocket-protocol": "hawser.v1",
};

/** The answer to a request or an upgrade: its status (101 if accepted) and the data received by then. */
export function ask(url: string, asked: Asked): Promise<{ status: number; text: string }> {
	return new Promise((resolve, reject) => {
		const request = httpRequest(`${url}${asked.path}`, {
			method: asked.method,
			headers: {
				...(asked.isSocket ? socketHeaders : {}),
				...(asked.body === undefined ? {} : { "content-type": "application/json" }),
				...asked.headers,
			},
		});
		request.on("response", (response) => {
			let text = JSON.stringify(response.rawHeaders);
			const done = () => resolve({ status: response.statusCode ?? 0, text });
			response.on("data", (chunk: Buffer) => {
				text += chunk.toString("latin1");
				// An endless answer has started, which is all that can be checked.
				if (response.headers["content-type"]?.startsWith("text/event-stream")) response.destroy();
			});
			response.on("close", done);
		});
		request.on("upgrade", (response, socket) => {
			resolve({ status: 101, text: JSON.stringify(response.rawHeaders) });
			socket.destroy();
		});
		request.on("error", reject);
		request.end(asked.body);
	});
}

/** A route's address with its parameters filled in. */
export function pathOf({ url }: Route, id: string): string {
	return url.replace(/:\w+/g, id).replace("*", "x");
}
