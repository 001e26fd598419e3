/** Requests that start programs, in every protocol. Each rejects if it is refused. */

import { onTestFinished } from "vitest";
import { WebSocket } from "ws";
import { environmentKey } from "../../../src/api/mcp.ts";
import { AppClient } from "../../fronts/dropins/codex-app/support/app-client.ts";
import { ExecClient, type StartOptions } from "../../fronts/dropins/codex-exec/support/exec-client.ts";
import { openLink } from "../../fronts/dropins/codex-exec/support/exec-link.ts";
import { MulticaClient } from "../../fronts/dropins/multica/support/multica-client.ts";
import { TASK, WORKSPACE } from "../../fronts/dropins/multica/support/multica-server.ts";
import { newerOverHttp } from "../../support/mcp-client.ts";

/** A server and a token for it. */
export type Caller = { readonly url: string; readonly token: string };

export async function post({ url, token }: Caller, path: string, body: object): Promise<Record<string, string>> {
	const headers = { "x-execd-access-token": token, "content-type": "application/json" };
	const response = await fetch(`${url}${path}`, { method: "POST", body: JSON.stringify(body), headers });
	const text = await response.text();
	if (response.status >= 400) throw new Error(text);
	// A stream of events reports programs.
	const isJson = response.headers.get("content-type")?.startsWith("application/json");
	return isJson ? (JSON.parse(text) as Record<string, string>) : {};
}

export async function mcp(by: Caller, tool: string, args: Record<string, unknown>, surroundings = {}): Promise<void> {
	const client = await newerOverHttp({ ...by });
	onTestFinished(() => client.close());
	const answer = await client.callTool({ name: tool, arguments: args, _meta: { [environmentKey]: surroundings } });
	if (answer.isError) throw new Error(JSON.stringify(answer.content));
}

export async function exec(by: Caller, options: StartOptions, argv = ["/bin/echo", "harmless"]): Promise<void> {
	const client = await execClient(by);
	await client.start("p", argv, options);
}

export async function execClient(by: Caller): Promise<ExecClient> {
	const client = new ExecClient(await linkTo("/codex/exec-server", by));
	await client.handshake();
	return client;
}

export async function app(by: Caller, method: string, params: object): Promise<void> {
	const client = await new AppClient(await linkTo("/codex/app-server", by)).initialize({ experimentalApi: true });
	await client.request(method, { command: ["/bin/echo", "harmless"], processHandle: "p", ...params });
}

const linkTo = (path: string, { url, token }: Caller) =>
	openLink(`${url.replace("http", "ws")}${path}`, { authorization: `Bearer ${token}` });

/** A socket that has reported its connection. */
export async function socket({ url, token }: Caller, path: string): Promise<WebSocket> {
	const opened = new WebSocket(`${url.replace("http", "ws")}${path}`, { headers: { "x-execd-access-token": token } });
	onTestFinished(() => opened.terminate());
	await new Promise<void>((resolve, reject) => {
		opened.on("message", (data) => {
			const text = data.toString();
			if (text.includes('"connected"')) resolve();
			else if (text.includes('"error"')) reject(new Error(text));
		});
		opened.on("error", reject);
		opened.on("close", () => reject(new Error("it was closed")));
	});
	return opened;
}

export async function multica(by: Caller, query = {}): Promise<void> {
	const client = MulticaClient.connect(by, { query });
	onTestFinished(() => client.socket.terminate());
	await client.auth(by.token);
	const frame = await client.until("an answer", () =>
		client.frames.find(({ type }) => type === "terminal.opened" || type === "error"),
	);
	if (frame?.type === "error") throw new Error(JSON.stringify(frame));
}

/** The socket on which a Multica daemon has many terminals. */
export async function multicaTerminal(by: Caller): Promise<void> {
	const client = new MulticaClient(`${by.url}/multica/terminal`, { authorization: `Bearer ${by.token}` });
	onTestFinished(() => client.socket.terminate());
	await client.until("an open socket", () => client.socket.readyState !== WebSocket.CONNECTING);
	client.say("terminal.open", { request_id: "r", workspace_id: WORKSPACE, task_id: TASK, cols: 80, rows: 24 });
	const frame = await client.until("an answer", () => client.frames[0]);
	if (frame?.type !== "terminal.opened") throw new Error(JSON.stringify(frame));
}
