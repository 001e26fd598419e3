import { cp, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { allowAnyone } from "../../../src/access/fixed-access.ts";
import { loadConfig } from "../../../src/server/config.ts";
import { startServer } from "../../../src/server/server.ts";
import { start } from "../../support/server.ts";
import { temporaryDirectory } from "../../support/temporary.ts";

it("all session ids of a state directory end alike, for every starter", async () => {
	const stateDir = await temporaryDirectory();
	const ids: string[] = [];
	for (let i = 0; i < 2; i++) {
		const server = await start({ stateDir });
		ids.push(await server.session(), await server.session());
		await server.close();
	}
	for (const id of ids) expect(id).toMatch(/^[a-z0-9]{18}$/);
	expect(new Set(ids.map((id) => id.slice(12))).size).toBe(1);
	expect(new Set(ids.map((id) => id.slice(0, 12))).size).toBe(ids.length);
	const elsewhere = await start();
	expect((await elsewhere.session()).slice(12)).not.toBe(ids[0]?.slice(12));
});

it("a part that fails to close is reported, and the rest is closed", async () => {
	const stateDir = await temporaryDirectory();
	const problems: unknown[] = [];
	const config = loadConfig({ port: "0", spares: "0", stateDir }, {});
	const server = await startServer(config, {
		report: (problem) => problems.push(problem),
		dropIn: () => ({
			host: "127.0.0.1",
			port: 0,
			authorize: allowAnyone,
			fronts: [
				{
					name: "stubborn",
					credential: () => undefined,
					register: (app) =>
						void app.addHook("onClose", async () => {
							throw new Error("it does not close");
						}),
				},
			],
		}),
	});
	await server.close();
	expect(problems).toMatchObject([{ message: "it does not close" }]);
	await expect(fetch(`${server.url}/healthz`)).rejects.toThrow();
	// Only the server that released the directory lets another one in.
	const next = await start({ stateDir });
	expect((await next.request("/healthz")).status).toBe(200);
});

it("a server on a copied state directory does not take the original's socket", async () => {
	const runtimeDir = await temporaryDirectory();
	const original = await start({ runtimeDir });
	const stateDir = await temporaryDirectory();
	for (const file of ["node", "generation"]) await cp(join(original.stateDir, file), join(stateDir, file));
	await expect(start({ stateDir, runtimeDir })).rejects.toMatchObject({
		code: "invalid_argument",
		message: expect.stringContaining("on a copy of this state directory"),
		hint: expect.stringContaining("--runtime-dir"),
	});
	const { socket } = JSON.parse(await readFile(join(original.stateDir, "server.json"), "utf8")) as { socket: string };
	expect((await stat(socket)).isSocket()).toBe(true);
	await original.close();
	await start({ stateDir, runtimeDir });
});
