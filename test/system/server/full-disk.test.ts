import { appendFile, readdir } from "node:fs/promises";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { CrashingServer } from "../../support/crashing-server.ts";
import { withSmallDisk } from "../../support/small-disk.ts";

const DISK_BYTES = 2 * 1024 * 1024;

/** Fills the disk. */
async function fill(directory: string): Promise<void> {
	for (const block of [new Uint8Array(4096), new Uint8Array(1)]) {
		for (;;) {
			try {
				await appendFile(join(directory, "filler"), block);
			} catch (error) {
				expect(error).toMatchObject({ code: "ENOSPC" });
				break;
			}
		}
	}
}

async function ask(server: CrashingServer, path: string, method = "GET", body?: object) {
	const response = await fetch(`${server.url}${path}`, {
		method,
		headers: {
			authorization: `Bearer ${await server.token()}`,
			...(path.startsWith("/opensandbox") ? { "x-execd-access-token": await server.token() } : {}),
			...(body ? { "content-type": "application/json" } : {}),
		},
		...(body ? { body: JSON.stringify(body) } : {}),
	});
	const text = await response.text();
	return { status: response.status, body: text === "" ? undefined : JSON.parse(text) };
}

it("a server starts on a full disk, reports the problem, and lets the operator free space", async () => {
	await withSmallDisk(DISK_BYTES, async (directory) => {
		const server = new CrashingServer(directory);
		onTestFinished(() => server.kill());
		await server.start();
		const { body: running } = await ask(server, "/v1/sessions", "POST", { argv: ["cat"] });
		const { body: ended } = await ask(server, "/v1/sessions", "POST", { command: "head -c 300000 /dev/zero" });
		const { body: pty } = await ask(server, "/opensandbox/pty", "POST", {});
		await expect.poll(async () => (await ask(server, `/v1/sessions/${ended.id}`)).body.state).toBe("closed");
		const { body: token } = await ask(server, "/v1/tokens", "POST", { scopes: ["workspace:default:read"] });
		await fill(directory);
		await server.kill();

		await server.start();
		expect((await ask(server, "/v1/sessions")).body.sessions).toHaveLength(2);
		// Operations that need space are refused with one message. The others work.
		const full = { status: 429, body: { error: { code: "limit_exceeded", hint: expect.stringContaining("space") } } };
		expect(await ask(server, "/v1/sessions", "POST", { argv: ["cat"] })).toMatchObject(full);
		for (let count = 0; count < 3; count++) {
			expect((await ask(server, `/v1/tokens/${token.id}`, "DELETE")).status).toBe(count === 0 ? 204 : 404);
		}
		expect(await ask(server, "/opensandbox/command", "POST", { command: "true", background: true })).toMatchObject({
			status: 429,
			body: { message: expect.stringContaining("disk is full") },
		});
		expect((await ask(server, `/opensandbox/pty/${pty.session_id}`, "DELETE")).status).toBe(200);
		expect((await ask(server, `/v1/sessions/${running.id}`, "DELETE")).status).toBe(204);
		expect((await ask(server, `/v1/sessions/${ended.id}`, "DELETE")).status).toBe(204);
		expect(await readdir(join(directory, "sessions"))).toEqual([]);

		const { status, body: next } = await ask(server, "/v1/sessions", "POST", { argv: ["cat"] });
		expect(status).toBe(201);
		expect((await ask(server, `/v1/sessions/${next.id}`, "DELETE")).status).toBe(204);
	});
});
