/** The description of this host for clients (contract §10.3), compared with the real server's. */

import { chmod, readFile, writeFile } from "node:fs/promises";
import { expect, test } from "vitest";
import {
	createEnvironmentMethods,
	environmentInfo,
} from "../../../../src/fronts/dropins/codex-exec/environment-info.ts";
import { temporaryDirectory } from "../../../support/temporary.ts";
import { caller } from "./support/calls.ts";

const host = { env: {}, cwd: "/", version: "0.166.0" };

/** The `environmentInfo` of a recorded answer to `initialize`. */
async function recordedInfo(): Promise<{ capabilities: Record<string, boolean> }> {
	const lines = await readFile("test/fixtures/codex/exec-server-initialize.jsonl", "utf8");
	const answer = lines.split("\n").find((line) => line.includes('"s2c"')) ?? "";
	return JSON.parse(JSON.parse(answer).raw).result.environmentInfo;
}

test("the members equal the recorded server's on the same host", async () => {
	const recorded = await recordedInfo();
	const env = { SHELL: "/bin/bash", HOME: "/home/user" };
	const { capabilities, prependPathDirs, ...info } = await environmentInfo({ ...host, env, cwd: "/lab/work" });
	expect(recorded).toMatchObject(info);
	// It offers programs of its own, and states its variant.
	expect([prependPathDirs, Object.keys(recorded)]).toEqual([
		[],
		expect.arrayContaining(["providerId", ...Object.keys(info)]),
	]);
	expect(Object.keys(capabilities)).toEqual(Object.keys(recorded.capabilities));
});

test("no capability is advertised, because none exists", async () => {
	const { capabilities } = await environmentInfo(host);
	expect(Object.values(capabilities).filter(Boolean)).toEqual([]);
});

test("P2: TMPDIR is the temporary directory, relative to the working directory", async () => {
	expect(await environmentInfo({ ...host, env: { TMPDIR: "/var/my tmp/" }, cwd: "/w" })).toMatchObject({
		temporaryDirectories: ["file:///var/my%20tmp"],
		tempDir: "file:///var/my%20tmp",
		cwd: "file:///w",
	});
	const relative = { ...host, env: { TMPDIR: "../t" }, cwd: "/w/x" };
	expect(await environmentInfo(relative)).toMatchObject({ tempDir: "file:///w/t" });
	expect(await environmentInfo(host)).toMatchObject({ temporaryDirectories: [], tempDir: "file:///tmp" });
});

test("the shell is SHELL if it is known to clients and executable", async () => {
	const directory = await temporaryDirectory();
	const zsh = `${directory}/zsh`;
	await writeFile(zsh, "#!/bin/sh\n");
	const shell = async () => (await environmentInfo({ ...host, env: { SHELL: zsh, PATH: "/bin" } })).shell;
	expect((await shell()).path).not.toBe(zsh);
	await chmod(zsh, 0o755);
	expect(await shell()).toEqual({ name: "zsh", path: zsh });
});

test.each(["/bin/ls", "bash", "/no/such/bash", "/bin", undefined])(
	"another shell is used if SHELL is %s",
	async (SHELL) => {
		const { shell } = await environmentInfo({ ...host, env: { SHELL, PATH: "/usr/bin:/bin" } });
		expect(shell.path).toMatch(new RegExp(`^/(usr/)?(local/)?bin/${shell.name}$`));
		expect(["bash", "zsh", "sh"]).toContain(shell.name);
	},
);

test("H2, H3: both methods take no parameters and answer", async () => {
	const call = caller(createEnvironmentMethods(host));
	for (const params of [undefined, null, {}]) {
		expect(await call("environment/info", params)).toEqual(await environmentInfo(host));
		expect(await call("environment/status", params)).toEqual({ status: "ready" });
	}
	for (const params of [{ a: 1 }, []]) {
		expect(await call("environment/info", params)).toMatchObject({ code: -32602 });
		expect(await call("environment/status", params)).toMatchObject({ code: -32602 });
	}
});
