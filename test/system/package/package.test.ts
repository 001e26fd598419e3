// @module-tag slow

/** Packs this checkout, installs the package elsewhere, and follows the README's tour. */

import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { stripVTControlCharacters } from "node:util";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type Result, result } from "../../support/hawser-command.ts";

const root = fileURLToPath(new URL("../../..", import.meta.url));
const platform = `${process.platform}-${process.arch}`;
/** Not copied. Stamps of the compiled files say whether they are current, and `npm test` has just compiled them. */
const left = new Set([".git", "node_modules", "dist-bench", "bench-results"]);
/** Addons for other platforms are compiled on another machine. */
const packMs = 300_000;

let folder: string;
let installed: string;
let env: NodeJS.ProcessEnv;

beforeAll(async () => {
	folder = mkdtempSync(join(tmpdir(), "hawser-package-"));
	const clone = join(folder, "clone");
	cpSync(root, clone, { recursive: true, filter: (path) => !left.has(relative(root, path)) });
	symlinkSync(join(root, "node_modules"), join(clone, "node_modules"));
	mkdirSync(join(folder, "home"));
	// Dependencies may come from this machine's cache. Nothing else of this account is available.
	const cache = process.env.npm_config_cache ?? join(process.env.HOME ?? "/root", ".npm");
	// How this machine reaches the registry: npm does not look there when it has its own prefix and home.
	const globalconfig = execFileSync("npm", ["config", "get", "globalconfig"], { encoding: "utf8" }).trim();
	const { NODE_EXTRA_CA_CERTS } = process.env;
	env = {
		PATH: `${join(folder, "prefix", "bin")}:${process.env.PATH}`,
		HOME: join(folder, "home"),
		npm_config_cache: cache,
		npm_config_globalconfig: globalconfig,
		npm_config_userconfig: process.env.npm_config_userconfig ?? join(process.env.HOME ?? "/root", ".npmrc"),
		npm_config_update_notifier: "false",
		...(NODE_EXTRA_CA_CERTS === undefined ? {} : { NODE_EXTRA_CA_CERTS }),
	};
	await succeed(run("npm", ["pack", "--pack-destination", folder], clone));
	const tarball = readdirSync(folder).find((name) => name.endsWith(".tgz"));
	const flags = ["--global", "--prefix", "prefix", "--prefer-offline", "--no-audit", "--no-fund", "--engine-strict"];
	await succeed(run("npm", ["install", ...flags, `./${tarball}`], folder));
	installed = join(folder, "prefix", "lib", "node_modules", "hawser");
}, packMs);
afterAll(() => {
	stopServer();
	rmSync(folder, { recursive: true, force: true });
});

it("the package ships its documents and the addon for this machine", () => {
	for (const path of ["README.md", "docs/protocol/README.md", `native/build/${platform}/hawser.node`]) {
		expect(existsSync(join(installed, path)), path).toBe(true);
	}
});

it("the installed package runs the README's tour", async () => {
	const { stdout } = await succeed(run("bash", ["-euxc", tour()], folder));
	// A shell prints marks where its commands begin and end.
	expect(stripVTControlCharacters(stdout)).toMatch(/^hello from (\d+)\r?$.*^still \1\r?$/ms);
}, 60_000);

it("the package reports a missing addon that can't be compiled, and compiles it where it can", async () => {
	rmSync(join(installed, "native/build", platform), { recursive: true });
	const serve = (more: NodeJS.ProcessEnv) =>
		start("hawser", ["serve", "--port", "0", "--spares", "0", "--state-dir", join(folder, "state")], folder, more);
	const refused = await result(serve({ CC: "/no/compiler" }));
	expect(refused.code).not.toBe(0);
	expect(refused.stderr).toContain(`the native addon for ${platform} is missing and can't be compiled: no C compiler`);
	expect(refused.stderr).not.toContain("can't be written");

	const server = serve({});
	server.stdout?.once("data", () => server.kill("SIGTERM"));
	const { stdout, stderr } = await result(server);
	expect(stderr).toContain("compiling it once");
	expect(stdout).toContain("http://127.0.0.1:");
}, 60_000);

/** The commands of the README's tour, except those that need a person at a terminal. */
function tour(): string {
	const text = readFileSync(join(installed, "README.md"), "utf8");
	const [, section = ""] = /\n## A tour[^\n]*\n(.*?)\n## /s.exec(text) ?? [];
	const blocks = [...section.matchAll(/```sh\n(.*?)```/gs)].map(([, code = ""]) => code);
	return blocks.filter((code) => !code.includes("attach")).join("\n");
}

/** Stops the server that the tour leaves in the background. */
function stopServer(): void {
	const file = join(folder, "home/.local/state/hawser/server.json");
	if (!existsSync(file)) return;
	const { pid } = JSON.parse(readFileSync(file, "utf8")) as { pid: number };
	process.kill(pid, "SIGKILL");
}

function start(command: string, args: readonly string[], cwd: string, more: NodeJS.ProcessEnv = {}): ChildProcess {
	return spawn(command, args, { cwd, env: { ...env, ...more }, stdio: ["ignore", "pipe", "pipe"] });
}

function run(command: string, args: readonly string[], cwd: string): Promise<Result> {
	return result(start(command, args, cwd));
}

async function succeed(running: Promise<Result>): Promise<Result> {
	const ended = await running;
	expect(ended.code, `${ended.stdout}\n${ended.stderr}`).toBe(0);
	return ended;
}
