/** Runs `hawser execd` as an operator does: the original's flags and variables, in its own process. */

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { text } from "node:stream/consumers";
import { describe, expect, it, onTestFinished } from "vitest";
import { withGoFlags } from "../../../src/cli/serve/go-flags.ts";
import { main, result } from "../../support/hawser-command.ts";
import { ask as askRaw } from "../../support/server.ts";
import { temporaryDirectory } from "../../support/temporary.ts";

function launch(args: readonly string[], env: NodeJS.ProcessEnv = {}): ChildProcess {
	const child = spawn(process.execPath, [main, ...args], {
		cwd: "/tmp",
		env: { PATH: process.env.PATH, HOME: "/tmp", ...env },
		stdio: ["ignore", "pipe", "pipe"],
	});
	onTestFinished(() => void child.kill("SIGKILL"));
	return child;
}

/** Returns the address that it prints once it accepts requests. */
async function ready(child: ChildProcess): Promise<string> {
	if (!child.stdout) throw new Error("no stdout");
	for await (const line of createInterface(child.stdout)) {
		const [, url] = /^listening on (\S+)$/.exec(line) ?? [];
		if (url !== undefined) return url;
	}
	throw new Error("execd ended before it listened");
}

async function ended(child: ChildProcess, signal: NodeJS.Signals): Promise<number | null> {
	const exit = once(child, "exit");
	child.kill(signal);
	const [code] = (await exit) as [number | null];
	return code;
}

const withToken = { headers: { "x-execd-access-token": "secret" } };

it("execd checks the token before it looks up a path, and exits cleanly", async () => {
	const stateDir = await temporaryDirectory();
	const child = launch([
		"execd",
		"--host",
		"127.0.0.1",
		"-port=0",
		"-access-token",
		"secret",
		"--state-dir",
		stateDir,
		"--graceful-shutdown-timeout=0s",
		"--log-level=6",
	]);
	const url = await ready(child);
	for (const path of ["/ping", "/nothing", "/pty/unknown"]) {
		const refused = await fetch(`${url}${path}`);
		expect([refused.status, await refused.json()]).toEqual([
			401,
			{ error: "Unauthorized: invalid or missing header X-EXECD-ACCESS-TOKEN" },
		]);
	}
	const ping = await fetch(`${url}/ping`, withToken);
	expect([ping.status, ping.headers.get("content-length"), await ping.text()]).toEqual([200, "0", ""]);
	const unknown = await fetch(`${url}/nothing`, withToken);
	expect([unknown.status, unknown.headers.get("content-type"), await unknown.text()]).toEqual([
		404,
		"text/plain",
		"404 page not found",
	]);
	const other = await fetch(`${url}/ping`, { ...withToken, method: "PUT" });
	expect([other.status, await other.text()]).toEqual([404, "404 page not found"]);
	const slash = await fetch(`${url}/ping/`, { ...withToken, redirect: "manual" });
	expect([slash.status, slash.headers.get("location")]).toEqual([301, "/ping"]);
	const evil = await fetch(`${url}//example.org/`, { ...withToken, redirect: "manual" });
	expect(evil.headers.get("location") ?? "").not.toMatch(/^\/\//);
	expect(await ended(child, "SIGTERM")).toBe(0);
});

it("execd reads its token and log file from the original's variables, and hides the token from programs", async () => {
	const directory = await temporaryDirectory();
	const stateDir = join(directory, "state");
	const child = launch(["execd", "--host", "127.0.0.1", "--port", "0", "--state-dir", stateDir], {
		EXECD_ACCESS_TOKEN: "secret",
		EXECD_LOG_FILE: join(directory, "execd.log"),
		OTHER: "seen",
	});
	const url = await ready(child);
	expect((await fetch(`${url}/ping`)).status).toBe(401);
	const response = await fetch(`${url}/command`, {
		...withToken,
		method: "POST",
		body: JSON.stringify({ command: 'echo "[$EXECD_ACCESS_TOKEN] [$OTHER]"' }),
	});
	expect(await response.text()).toContain('"text":"[] [seen]"');
	expect(await readFile(join(directory, "execd.log"), "utf8")).toBe("");
	const background = { command: "exec sleep 1000", background: true, timeout: 60_000 };
	await fetch(`${url}/command`, { ...withToken, method: "POST", body: JSON.stringify(background) });
	const { stdout } = await result(launch(["ls", "--json", "--state-dir", stateDir]));
	const [{ id, argv }] = JSON.parse(stdout) as [{ id: string; argv: string[] }];
	expect(argv).toContain("exec sleep 1000");
	expect((await result(launch(["rm", "--force", "--state-dir", stateDir, id]))).code).toBe(0);
	expect(await ended(child, "SIGINT")).toBe(0);
});

it("a second execd on the same state directory names the address of the first", async () => {
	const stateDir = await temporaryDirectory();
	const args = ["execd", "--host", "127.0.0.1", "--port", "0", "--access-token", "secret", "--state-dir", stateDir];
	const child = launch(args);
	const url = await ready(child);
	const second = await result(launch(args));
	expect([second.code, second.stderr]).toEqual([4, expect.stringContaining(`another server (${url}) is running`)]);
	expect(await ended(child, "SIGTERM")).toBe(0);
});

describe("without a token", () => {
	/** Sends a request as a browser would, or as a client that imitates one. */
	async function ask(url: string, headers: Record<string, string>, isSocket = false): Promise<number> {
		const asked = isSocket
			? { method: "GET", path: "/ws/session/unknown", isSocket }
			: { method: "POST", path: "/command", body: JSON.stringify({ command: "true" }) };
		return (await askRaw(url, { ...asked, headers: { "content-type": "text/plain", ...headers } })).status;
	}

	const own = "127.0.0.1";
	const foreign = [
		{ origin: "https://evil.test" },
		{ origin: "null" },
		{ origin: "http://127.0.0.1:1" },
		{ "sec-fetch-site": "cross-site" },
		{ "sec-fetch-site": "same-site" },
		{ host: "evil.test" },
		{ host: "evil.test:80", origin: "http://evil.test" },
		{ host: "10.1.2.3" },
	];

	it("execd without a token refuses pages of other sites and accepts programs, unless configured otherwise", async () => {
		const stateDir = await temporaryDirectory();
		const child = launch(["execd", "--host", "0.0.0.0", "--port", "0", "--state-dir", stateDir]);
		const said = text(child.stderr ?? process.stdin);
		const url = (await ready(child)).replace("0.0.0.0", own);
		for (const headers of foreign) {
			expect({ headers, status: await ask(url, headers) }).toEqual({ headers, status: 403 });
			expect({ headers, status: await ask(url, headers, true) }).toEqual({ headers, status: 403 });
		}
		const { port } = new URL(url);
		const programs: Record<string, string>[] = [
			{},
			{ host: `localhost:${port}` },
			{ host: `[::1]:${port}` },
			{ origin: url, "sec-fetch-site": "same-origin" },
			{ "sec-fetch-site": "none" },
		];
		for (const headers of programs)
			expect({ headers, status: await ask(url, headers) }).toEqual({ headers, status: 200 });
		expect(await ended(child, "SIGTERM")).toBe(0);
		expect(await said).toContain("anyone who can reach this port can run programs");
	});

	it("execd without a token is open to every origin when configured so, and prints a warning", async () => {
		const stateDir = await temporaryDirectory();
		const child = launch(["execd", "--host", own, "--port", "0", "--state-dir", stateDir, "--allow-foreign"]);
		const said = text(child.stderr ?? process.stdin);
		const url = await ready(child);
		for (const headers of foreign)
			expect({ headers, status: await ask(url, headers) }).toEqual({ headers, status: 200 });
		expect(await ended(child, "SIGTERM")).toBe(0);
		expect(await said).toContain("any web page");
		expect(await said).not.toContain("anyone who can reach");
	});
});

it("execd refuses invalid options in one sentence", async () => {
	const port = await result(launch(["execd", "--port", "70000"]));
	expect([port.code, port.stderr]).toEqual([1, "hawser: --port: expected a number from 0 to 65535, got 70000\n"]);
	const grace = await result(launch(["execd", "--graceful-shutdown-timeout", "soon"]));
	expect(grace.code).toBe(1);
	expect(grace.stderr).toContain("expected a duration");
});

it("execd takes the original's flags with one dash, and other commands do not", () => {
	const argv = ["node", "hawser", "execd", "-port=1", "-access-token", "-port-of-call", "--log-level", "-h"];
	expect(withGoFlags(argv).slice(3)).toEqual(["--port=1", "--access-token", "-port-of-call", "--log-level", "-h"]);
	expect(withGoFlags(["node", "hawser", "run", "-port"])).toEqual(["node", "hawser", "run", "-port"]);
});

it.each(["execd", "serve"])("%s with too few open files to load exits with one sentence", async (command) => {
	const start = [process.execPath, main, command, "--host", "127.0.0.1", "--port", "0"];
	const child = spawn("/bin/bash", ["-c", 'ulimit -n 64; exec "$@"', "bash", ...start], {
		env: { ...process.env, HAWSER_STATE_DIR: await temporaryDirectory() },
		stdio: ["ignore", "pipe", "pipe"],
	});
	const { code, stderr } = await result(child);
	expect([code, stderr]).toEqual([1, expect.stringMatching(/^hawser: .*raise the .*open file.*\n$/)]);
});
