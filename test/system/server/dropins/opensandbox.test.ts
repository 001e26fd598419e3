/** The front in `hawser serve`: the same protocol under its own path, behind the server's authentication. */

import { ConnectionConfig, DefaultAdapterFactory } from "@alibaba-group/opensandbox";
import { expect, test } from "vitest";
import { start } from "../../../support/server.ts";

const as = (token: string) => ({ headers: { "x-execd-access-token": token } });

test("OpenSandbox paths begin with /opensandbox, and none is at the root", async () => {
	const server = await start();
	const mine = server.routes.filter(({ front }) => front === "opensandbox").map(({ url }) => url);
	expect(mine).toContain("/opensandbox/pty/:id/ws");
	for (const url of mine) expect(url).toMatch(/^\/opensandbox\//);
	const ping = await fetch(`${server.url}/opensandbox/ping`, as(server.adminToken));
	expect([ping.status, ping.headers.get("content-length")]).toEqual([200, "0"]);
	expect((await fetch(`${server.url}/opensandbox/ping`)).status).toBe(401);
	const slash = await fetch(`${server.url}/opensandbox/ping/`, { ...as(server.adminToken), redirect: "manual" });
	expect([slash.status, slash.headers.get("location")]).toEqual([301, "/opensandbox/ping"]);
	expect((await fetch(`${server.url}/ping`, as(server.adminToken))).status).toBe(404);
});

test("the published OpenSandbox SDK works with that address", async () => {
	const server = await start();
	const connectionConfig = new ConnectionConfig(as(server.adminToken)).withTransportIfMissing();
	const execdBaseUrl = `${server.url}/opensandbox`;
	const { commands } = new DefaultAdapterFactory().createExecdStack({ connectionConfig, execdBaseUrl });
	const { logs, exitCode } = await commands.run("echo hello; exit 3");
	expect(logs.stdout.map(({ text }) => text)).toEqual(["hello"]);
	expect(exitCode).toBe(3);
	await connectionConfig.closeTransport();
});
