/**
 * The cost of one keeper or of the disk for the server and its other sessions, with real keepers and therefore a real
 * server.
 */

import { readFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import type { SessionRecord } from "../../../src/keeper/link/session-record.ts";
import type { Config } from "../../../src/server/config.ts";
import { CrashingServer } from "../../support/crashing-server.ts";
import { eventually } from "../../support/reading.ts";
import { temporaryDirectory } from "../../support/temporary.ts";

type Listed = { readonly id: string; readonly unreachable?: true; readonly pid: number | null; readonly state: string };

class Site {
	readonly #server: CrashingServer;
	readonly #token: string;

	static async open(settings: Partial<Config> = {}): Promise<Site> {
		const server = new CrashingServer(await temporaryDirectory(), settings);
		await server.start();
		const site = new Site(server, await server.token());
		onTestFinished(async () => {
			await server.killAll();
		});
		return site;
	}

	private constructor(server: CrashingServer, token: string) {
		this.#server = server;
		this.#token = token;
	}

	/** Kills the server and starts the next one. */
	async crash(meanwhile: () => Promise<unknown>): Promise<void> {
		await this.#server.kill();
		await meanwhile();
		await this.#server.start();
	}

	socketOf(id: string): string {
		return this.#recordOf(id).socket;
	}

	request(path: string, init: RequestInit = {}): Promise<Response> {
		const headers = { ...init.headers, authorization: `Bearer ${this.#token}` };
		return fetch(`${this.#server.url}${path}`, { ...init, headers });
	}

	async run(command: string): Promise<{ status: number; body: Listed }> {
		const response = await this.request("/v1/sessions", {
			method: "POST",
			headers: { "content-type": "application/json" },
			body: JSON.stringify({ command, mode: "pipe" }),
		});
		return { status: response.status, body: (await response.json()) as Listed };
	}

	/** Resolves once all of it is written. */
	async write(id: string, bytes: Buffer): Promise<void> {
		const response = await this.request(`/v1/sessions/${id}/input?wait=written`, {
			method: "POST",
			headers: { "content-type": "application/octet-stream" },
			body: new Uint8Array(bytes),
		});
		expect(response.status).toBe(200);
	}

	async look(id: string): Promise<Listed> {
		return (await (await this.request(`/v1/sessions/${id}`)).json()) as Listed;
	}

	async list(): Promise<readonly Listed[]> {
		return ((await (await this.request("/v1/sessions")).json()) as { sessions: Listed[] }).sessions;
	}

	/** Measured now. */
	async journalBytes(): Promise<number> {
		const metrics = await (await this.request("/metrics")).text();
		return Number(/^hawser_journal_bytes (\d+)/m.exec(metrics)?.[1]);
	}

	keeperOf(id: string): number {
		return this.#recordOf(id).pid;
	}

	#recordOf(id: string): { readonly pid: number; readonly socket: string } {
		const file = join(this.#server.stateDir, "sessions", id, "session.json");
		return (JSON.parse(readFileSync(file, "utf8")) as SessionRecord).keeper;
	}
}

test("a keeper that does not answer delays nothing else, is reported, and can be removed by force", async () => {
	const site = await Site.open();
	const stopped = (await site.run("exec cat")).body.id;
	const healthy = (await site.run("exec cat")).body.id;
	// A slow keeper is silent for a moment, too.
	const listOnce = (wanted: readonly (true | undefined)[]) =>
		eventually(`a list with ${wanted}`, async () => {
			const listed = await site.list();
			return listed.every(({ unreachable }, index) => unreachable === wanted[index]) && listed;
		});
	const before = await listOnce([undefined, undefined]);
	process.kill(site.keeperOf(stopped), "SIGSTOP");
	const after = await listOnce([true, undefined]);
	expect(after.map(({ id }) => id)).toEqual([stopped, healthy]);
	const listed = await site.request("/mcp", {
		method: "POST",
		headers: { "content-type": "application/json", accept: "application/json, text/event-stream" },
		body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "sessions", arguments: {} } }),
		// Less than the 10 s timeout for a keeper's answer.
		signal: AbortSignal.timeout(9_000),
	});
	expect(await listed.text()).toContain("running; its state is unknown");
	// Its last known state is still reported.
	expect(after[0]?.pid).toBe(before[0]?.pid);
	expect(await site.look(stopped)).toMatchObject({ unreachable: true });
	await site.write(healthy, Buffer.from("x"));

	expect((await site.request(`/v1/sessions/${stopped}?force=1`, { method: "DELETE" })).status).toBe(204);
	expect((await site.list()).map(({ id }) => id)).toEqual([healthy]);
});

test("a server listens although its only keeper is unreachable, and reports that", async () => {
	const site = await Site.open();
	const { id } = (await site.run("exec cat")).body;
	await site.crash(() => rm(site.socketOf(id)));
	expect(await site.list()).toMatchObject([{ id, unreachable: true }]);
});

test("journals above the disk limit evict the oldest ended session, and without one a new session is refused", async () => {
	const site = await Site.open({ maxDiskBytes: 300_000 });
	const first = (await site.run("head -c 200000 /dev/zero")).body.id;
	await eventually("its end", async () => (await site.look(first)).state === "closed");
	const second = (await site.run("head -c 200000 /dev/zero; exec cat")).body.id;
	// A measurement is valid for some seconds. This takes a new one.
	await eventually("both journals", async () => (await site.journalBytes()) > 400_000);
	const third = await site.run("exec cat");
	expect(third.status).toBe(201);
	expect((await site.list()).map(({ id }) => id)).toEqual([second, third.body.id]);
	await site.write(third.body.id, Buffer.alloc(150_000));
	await eventually("both journals", async () => (await site.journalBytes()) > 300_000);
	const refused = await site.run("exec cat");
	expect(refused).toMatchObject({ status: 429, body: { error: { code: "limit_exceeded" } } });
	expect(JSON.stringify(refused.body)).toContain("--max-disk");
});
