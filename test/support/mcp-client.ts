/** The official client of each era of the protocol, and the text of its answers. */

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { Client as OlderClient } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport as OlderStdio } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport as OlderHttp } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import type { Transport as OlderTransport } from "@modelcontextprotocol/sdk/shared/transport.js";

/** The last version of the first SDK, and the first version that only the second supports. */
export const eras = ["2025-11-25", "2026-07-28"] as const;
export type Era = (typeof eras)[number];

export type Place = { readonly url: string; readonly token: string; readonly query?: string };

type ToolResult = {
	readonly content: readonly { readonly type: string; readonly text?: unknown }[];
	readonly structuredContent?: unknown;
	readonly isError?: boolean | undefined;
};

export type Progress = { progress: number; total?: number | undefined; message?: string | undefined };
type CallOptions = { readonly signal?: AbortSignal; readonly onprogress?: (progress: Progress) => void };

type ToolInfo = {
	readonly name: string;
	readonly description?: string | undefined;
	readonly inputSchema: unknown;
	readonly outputSchema?: unknown;
	readonly annotations?: { readonly readOnlyHint?: boolean | undefined } | undefined;
};

/** The methods that both clients have. */
export type McpClient = {
	/** The version of the protocol. */
	readonly version: string | undefined;
	callTool(wanted: { name: string; arguments: Record<string, unknown> }, options?: CallOptions): Promise<ToolResult>;
	listTools(): Promise<{ readonly tools: readonly ToolInfo[] }>;
	listResources(): Promise<{ readonly resources: readonly { readonly uri: string; readonly name: string }[] }>;
	readResource(wanted: { uri: string }): Promise<{ readonly contents: readonly object[] }>;
	close(): Promise<void>;
};

/** The address of a state directory's server, and its operator's credential. */
export async function placeOf(stateDir: string): Promise<Place> {
	const { url } = JSON.parse(await readFile(join(stateDir, "server.json"), "utf8")) as { url: string };
	return { url, token: (await readFile(join(stateDir, "admin-token"), "utf8")).trim() };
}

export async function connectOverHttp(place: Place, era: Era): Promise<McpClient> {
	if (era === "2026-07-28") return newer(await newerOverHttp(place));
	const [url, options] = httpOf(place);
	return connectOlder(new OlderHttp(url, options));
}

/** A client of the newer era with all capabilities. */
export async function newerOverHttp(place: Place): Promise<Client> {
	const client = newerClient();
	const [url, options] = httpOf(place);
	await client.connect(new StreamableHTTPClientTransport(url, options));
	return client;
}

function httpOf({ url, token, query = "" }: Place): [URL, { requestInit: RequestInit }] {
	return [new URL(`${url}/mcp${query}`), { requestInit: { headers: { authorization: `Bearer ${token}` } } }];
}

export type Process = {
	readonly command: string;
	readonly args: string[];
	readonly env: Record<string, string>;
	readonly cwd: string;
};

export async function connectOverStdio(process: Process, era: Era): Promise<McpClient> {
	if (era === "2026-07-28") return newer(await newerOverStdio(process));
	return connectOlder(new OlderStdio({ ...process, stderr: "ignore" }));
}

/** A client of the newer era with all capabilities. */
export async function newerOverStdio(process: Process): Promise<Client> {
	const client = newerClient();
	await client.connect(new StdioClientTransport({ ...process, stderr: "ignore" }));
	return client;
}

const NAME = { name: "test", version: "1" };

function newerClient(): Client {
	return new Client(NAME, { versionNegotiation: { mode: { pin: "2026-07-28" } } });
}

/** Calls a tool with either client. */
export function newer(client: Client): McpClient {
	return {
		version: client.getNegotiatedProtocolVersion(),
		callTool: (wanted, options = {}) => client.callTool(wanted, options),
		listTools: () => client.listTools(),
		listResources: () => client.listResources(),
		readResource: (wanted) => client.readResource(wanted),
		close: () => client.close(),
	};
}

async function connectOlder(transport: OlderTransport): Promise<McpClient> {
	const client = new OlderClient(NAME);
	let version: string | undefined;
	const setVersion = transport.setProtocolVersion?.bind(transport);
	transport.setProtocolVersion = (agreed) => {
		version = agreed;
		setVersion?.(agreed);
	};
	await client.connect(transport);
	return {
		version,
		callTool: async (wanted, options = {}) => (await client.callTool(wanted, undefined, options)) as ToolResult,
		listTools: () => client.listTools(),
		listResources: () => client.listResources(),
		readResource: (wanted) => client.readResource(wanted),
		close: () => client.close(),
	};
}

export type Told = { readonly text: string; readonly isError: boolean };

export async function callTool(client: McpClient, name: string, args: Record<string, unknown>): Promise<Told> {
	const { content, structuredContent, isError } = await client.callTool({ name, arguments: args });
	if (structuredContent !== undefined) throw new Error("a result that hides its text");
	const [first, second] = content;
	if (first?.type !== "text" || second) throw new Error("a result is one text");
	return { text: String(first.text), isError: isError === true };
}

/** The text of a successful call. */
export async function callToolText(client: McpClient, name: string, args: Record<string, unknown>): Promise<string> {
	const { text, isError } = await callTool(client, name, args);
	if (isError) throw new Error(text);
	return text;
}
