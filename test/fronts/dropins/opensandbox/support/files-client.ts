/** Helpers for tests of files: paths in queries, manual uploads, and the state of the disk. */

import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { temporaryDirectory } from "../../../../support/temporary.ts";
import { type ExecdServer, type ExecdServerOptions, startExecd } from "./execd-server.ts";

export type Info = {
	path: string;
	type: string;
	size: number;
	modified_at: string;
	created_at: string;
	owner: string;
	group: string;
	mode: number;
};

export type Answer = { readonly status: number; readonly code: string | undefined; readonly body: unknown };

export class Files {
	readonly server: ExecdServer;
	/** An empty directory. */
	readonly root: string;

	static async start(options: ExecdServerOptions = {}): Promise<Files> {
		const root = await temporaryDirectory();
		return new Files(await startExecd({ cwd: root, ...options }), root);
	}

	constructor(server: ExecdServer, root: string) {
		this.server = server;
		this.root = root;
	}

	at(...names: string[]): string {
		return join(this.root, ...names);
	}

	async ask(method: string, path: string, body?: unknown): Promise<Answer> {
		const init = body === undefined ? { method } : { method, body: JSON.stringify(body) };
		const response = await this.server.request(path, init);
		const text = await response.text();
		const value = text === "" ? undefined : (JSON.parse(text) as unknown);
		return { status: response.status, code: (value as { code?: string } | undefined)?.code, body: value };
	}

	get(path: string): Promise<Answer> {
		return this.ask("GET", path);
	}

	post(path: string, body: unknown): Promise<Answer> {
		return this.ask("POST", path, body);
	}

	async info(path: string): Promise<Info> {
		const { body } = await this.get(`/files/info${query({ path })}`);
		return (body as Record<string, Info>)[path] as Info;
	}

	async paths(path: string): Promise<string[]> {
		return ((await this.get(path)).body as Info[]).map((info) => info.path.replace(`${this.root}/`, ""));
	}

	/** The parts in the given order. */
	async upload(
		parts: readonly (readonly [name: string, content: string | Uint8Array<ArrayBuffer> | Blob])[],
	): Promise<Answer> {
		const form = new FormData();
		for (const [name, content] of parts) form.append(name, new Blob([content]), "any");
		const response = await this.server.request("/files/upload", { method: "POST", body: form });
		const text = await response.text();
		const value = text === "" ? undefined : (JSON.parse(text) as unknown);
		return { status: response.status, code: (value as { code?: string } | undefined)?.code, body: value };
	}

	put(path: string, content: string | Uint8Array<ArrayBuffer>, metadata: object = {}): Promise<Answer> {
		return this.upload([metadataPart(path, metadata), ["file", content]]);
	}

	/** Everything below the root by name, so that no leftover of the server goes unnoticed. */
	async names(): Promise<string[]> {
		return (await readdir(this.root, { recursive: true })).sort();
	}
}

export function metadataPart(path: string, metadata: object = {}): readonly [string, string] {
	return ["metadata", JSON.stringify({ path, ...metadata })];
}

export function query(values: Readonly<Record<string, string | readonly string[]>>): string {
	const pairs = Object.entries(values).flatMap(([name, value]) =>
		[value].flat().map((one) => `${name}=${encodeURIComponent(one)}`),
	);
	return `?${pairs.join("&")}`;
}
