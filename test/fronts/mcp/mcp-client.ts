/** The official client of the protocol, in either era, and what it is told in words. */

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";

export const eras = ["2025-11-25", "2026-07-28"] as const;
export type Era = (typeof eras)[number];

export type Place = { readonly url: string; readonly token: string; readonly query?: string };

/** Where the server of a state directory is, and what its operator shows. */
export async function placeOf(stateDir: string): Promise<Place> {
	const { url } = JSON.parse(await readFile(join(stateDir, "server.json"), "utf8")) as { url: string };
	return { url, token: (await readFile(join(stateDir, "admin-token"), "utf8")).trim() };
}

export async function connectOverHttp({ url, token, query = "" }: Place, era: Era): Promise<Client> {
	const client = clientOf(era);
	const requestInit = { headers: { authorization: `Bearer ${token}` } };
	await client.connect(new StreamableHTTPClientTransport(new URL(`${url}/mcp${query}`), { requestInit }));
	return client;
}

export type Process = {
	readonly command: string;
	readonly args: string[];
	readonly env: Record<string, string>;
	readonly cwd: string;
};

export async function connectOverStdio(process: Process, era: Era): Promise<Client> {
	const client = clientOf(era);
	await client.connect(new StdioClientTransport({ ...process, stderr: "ignore" }));
	return client;
}

function clientOf(era: Era): Client {
	const mode = era === "2025-11-25" ? ("legacy" as const) : { pin: era };
	return new Client({ name: "test", version: "1" }, { versionNegotiation: { mode } });
}

export type Told = { readonly text: string; readonly isError: boolean };

export async function callTool(client: Client, name: string, args: Record<string, unknown>): Promise<Told> {
	const { content, structuredContent, isError } = await client.callTool({ name, arguments: args });
	if (structuredContent !== undefined) throw new Error("a result that hides its text");
	const [first, second] = content;
	if (first?.type !== "text" || second) throw new Error("a result is one text");
	return { text: first.text, isError: isError === true };
}

/** What a call that succeeds says. */
export async function told(client: Client, name: string, args: Record<string, unknown>): Promise<string> {
	const { text, isError } = await callTool(client, name, args);
	if (isError) throw new Error(text);
	return text;
}
