/** The process checks of upstream's black-box smoke test (6.6), one after the other on one server. */

import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { eventually } from "../../../support/reading.ts";
import { temporaryDirectory } from "../../../support/temporary.ts";
import { command, Events } from "./support/events.ts";
import { startExecd } from "./support/execd-server.ts";

test("6.6: ping, a disconnecting client, blank lines, a background command with its status and log", async () => {
	const server = await startExecd({ accessToken: "smoke", times: { streamPingMs: 20 } });
	expect((await server.request("/ping")).status).toBe(200);

	const long = new Events(await server.post("/command", { command: "sleep 20" }));
	const { text: id } = await long.until(({ type }) => type === "init");
	await long.until(({ type }) => type === "ping");
	await long.leave();
	// Several pings would have been sent by now.
	const since = Date.now();
	await eventually("a while", () => Date.now() - since > 100);
	expect((await server.request("/ping")).status).toBe(200);
	expect((await server.request(`/command/status/${id}`)).status).toBe(200);
	expect((await server.request(`/command?id=${id}`, { method: "DELETE" })).status).toBe(200);

	const blank = await command(server, "printf 'a\\n\\nb\\n\\n\\nc\\n'");
	expect(blank.stdout).toEqual(["a", "\n", "b", "\n", "\n", "c"]);
	expect(blank.types).toContain("execution_complete");

	const directory = await temporaryDirectory();
	const line = `echo smoke-log; until [ -e ${directory}/go ]; do sleep 0.01; done`;
	const background = await command(server, line, { background: true });
	const first = await server.request(`/command/status/${background.id}`);
	expect(first.status).toBe(200);
	expect(await first.json()).toMatchObject({ running: true });
	await writeFile(join(directory, "go"), "");
	await eventually("the end", async () => {
		const status = (await (await server.request(`/command/status/${background.id}`)).json()) as { running: boolean };
		return !status.running;
	});
	const log = await server.request(`/command/${background.id}/logs`);
	expect([log.status, log.headers.get("execd-commands-tail-cursor"), await log.text()]).toEqual([
		200,
		"10",
		"smoke-log\n",
	]);
	expect(server.problems).toEqual([]);
});
