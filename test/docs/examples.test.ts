/** The programs in `examples` run against a real server, as their first lines say. */

import { type ChildProcess, spawn } from "node:child_process";
import { randomInt } from "node:crypto";
import { once } from "node:events";
import { copyFile, mkdir, readFile, symlink } from "node:fs/promises";
import { createServer } from "node:http";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { expect, it, onTestFinished } from "vitest";
import { openBrowser } from "../support/chromium.ts";
import { CrashingServer } from "../support/crashing-server.ts";
import { result } from "../support/hawser-command.ts";
import { temporaryDirectory } from "../support/temporary.ts";

const folder = fileURLToPath(new URL("../../examples/", import.meta.url));

async function startServer(allowedOrigins: readonly string[] = []): Promise<CrashingServer> {
	const server = new CrashingServer(await temporaryDirectory(), { allowedOrigins });
	onTestFinished(() => server.killAll());
	await server.start();
	return server;
}

async function run(
	command: string,
	file: string,
	server: CrashingServer,
	env: NodeJS.ProcessEnv = {},
): Promise<ChildProcess> {
	const access = { HAWSER_URL: server.url, HAWSER_TOKEN: await server.token() };
	return spawn(command, [resolve(folder, file)], { env: { PATH: process.env.PATH, ...access, ...env } });
}

it("the curl example starts a command, answers it, and reads its output to the end", async () => {
	const { code, stdout, stderr } = await result(await run("sh", "curl.sh", await startServer()));
	expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
	expect(stdout).toMatch(/^What is your name\?\n/);
	const bytes = [...stdout.matchAll(/"data":"([^"]*)"/g)].map(([, data = ""]) => Buffer.from(data, "base64"));
	expect(Buffer.concat(bytes).toString()).toBe("What is your name?\nHello Ada\n");
	expect(stdout).toContain("event: closed");
});

it("the Node example drives a shell and reads its exit code, in a project without a module type", async () => {
	const project = await temporaryDirectory();
	await mkdir(join(project, "node_modules"));
	await symlink(join(folder, ".."), join(project, "node_modules", "hawser"));
	await copyFile(join(folder, "node.mjs"), join(project, "node.mjs"));
	expect(await result(await run(process.execPath, join(project, "node.mjs"), await startServer()))).toEqual({
		code: 0,
		stdout: "the shell says 42\nexit code 3\n",
		stderr: "",
	});
});

it("a page in a browser shows a shell, and the same one after a reload", async () => {
	const port = await freePort();
	const server = await startServer([`http://127.0.0.1:${port}`]);
	const site = await run(process.execPath, "browser/server.mjs", server, { PORT: String(port) });
	onTestFinished(async () => {
		if (site.exitCode !== null) return;
		const exited = once(site, "exit");
		site.kill();
		await exited;
	});
	if (site.stdout === null) throw new Error("no stdout");
	const [line] = (await once(createInterface(site.stdout), "line")) as [string];
	const page = await (await openBrowser()).newPage();
	await page.goto(/http:\S+/.exec(line)?.[0] ?? "");
	await page.locator(".xterm-rows").waitFor();
	await page.keyboard.type("echo in a $((40 + 2)) page\n");
	await page.locator(".xterm-rows", { hasText: "in a 42 page" }).waitFor();
	await page.reload();
	await page.locator(".xterm-rows", { hasText: "in a 42 page" }).waitFor();
});

/**
 * A port for the page, whose origin the server must know in advance. It is outside the range of automatically assigned
 * ports, so that it stays free.
 */
async function freePort(): Promise<number> {
	const [firstGiven] = (await readFile("/proc/sys/net/ipv4/ip_local_port_range", "latin1")).split("\t");
	const port = randomInt(10_000, Math.max(20_000, Number(firstGiven)));
	const server = createServer().listen(port, "127.0.0.1");
	const isFree = await once(server, "listening").then(
		() => true,
		() => false,
	);
	if (!isFree) return freePort();
	server.close();
	await once(server, "close");
	return port;
}
