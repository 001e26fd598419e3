/** A server behind a proxy that serves it below a path prefix. */

import { spawn } from "node:child_process";
import { expect, it } from "vitest";
import { connect } from "../../../src/client/index.ts";
import { main, result } from "../../support/hawser-command.ts";
import { prefixProxy } from "../../support/prefix-proxy.ts";
import { start } from "../../support/server.ts";

it("sign-in works below a path prefix, and redirects nowhere else", async () => {
	const server = await start({ basePath: "/tools/hawser/" });
	expect(new URL(server.signInUrl ?? "").pathname).toBe("/tools/hawser/signin");
	const url = await prefixProxy(server.url);
	const link = await connect({ url, token: server.adminToken }).signInLinks.create();
	expect(link.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/tools\/hawser\/signin\?code=/);
	expect(new URL(link.url).host).toBe(new URL(url).host);
	const headers = { origin: new URL(url).origin, "content-type": "application/x-www-form-urlencoded" };
	const page = await (await fetch(link.url, { method: "POST", headers })).text();
	const [, next = ""] = /location\.replace\("([^"]*)"\)/.exec(page) ?? [];
	expect(new URL(next, link.url).href).toBe(`${url}/`);
	await expect(start({ basePath: "tools" })).rejects.toThrow("--base-path: expected a path");
});

it.each(["", "/"])("the SDK and the commands work below a path prefix%s", async (slash) => {
	const server = await start();
	const url = (await prefixProxy(server.url)) + slash;
	const { sessions } = connect({ url, token: server.adminToken });
	const session = await sessions.create({ argv: ["cat"], mode: "pipe", durable: false, name: "behind" });
	expect((await sessions.list()).map(({ id }) => id)).toEqual([session.id]);
	const attachment = session.attach();
	await attachment.write("hello");
	await attachment.eof();
	expect(await new Response(attachment.bytes).text()).toBe("hello");
	const env = {
		PATH: process.env.PATH,
		HAWSER_URL: url,
		HAWSER_TOKEN: server.adminToken,
		HAWSER_STATE_DIR: "/nowhere",
	};
	expect(await result(spawn(process.execPath, [main, "logs", "behind"], { env }))).toMatchObject({
		code: 0,
		stdout: "hello",
	});
});
