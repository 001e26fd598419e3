/** What a client is told of this host (contract §10.3), compared with what the real server said. */

import { chmod, readFile, writeFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { createEnvironmentMethods, environmentInfo } from "../../../src/fronts/codex-exec/environment-info.ts";
import { temporaryDirectory } from "../../helpers/temporary.ts";
import { caller } from "./calls.ts";

const host = { env: {}, cwd: "/" };

/** The `environmentInfo` of a recorded answer to `initialize`. */
async function recordedInfo(): Promise<{ capabilities: Record<string, boolean> }> {
	const lines = await readFile("test/fixtures/codex/exec-server-initialize.jsonl", "utf8");
	const answer = lines.split("\n").find((line) => line.includes('"s2c"')) ?? "";
	return JSON.parse(JSON.parse(answer).raw).result.environmentInfo;
}

test("the members are those of the recorded server, for the same host", async () => {
	const recorded = await recordedInfo();
	const { capabilities, ...info } = await environmentInfo({ env: { SHELL: "/bin/bash" }, cwd: "/lab/work" });
	expect(recorded).toMatchObject(info);
	expect(Object.keys(recorded.capabilities)).toEqual(expect.arrayContaining(Object.keys(capabilities)));
});

test("no capability is advertised, because none is there", async () => {
	expect((await environmentInfo(host)).capabilities).toEqual({
		networkProxyLaunch: false,
		capabilityDiscoverySandbox: false,
		environmentConfigRead: false,
		httpHeaderEnvVars: false,
		sandboxedFileStreaming: false,
		shellSnapshotV2: false,
	});
});

test("P2: TMPDIR is the temporary directory, relative to the working directory", async () => {
	expect(await environmentInfo({ env: { TMPDIR: "/var/my tmp/" }, cwd: "/w" })).toMatchObject({
		temporaryDirectories: ["file:///var/my%20tmp"],
		tempDir: "file:///var/my%20tmp",
		cwd: "file:///w",
	});
	expect(await environmentInfo({ env: { TMPDIR: "../t" }, cwd: "/w/x" })).toMatchObject({ tempDir: "file:///w/t" });
	expect(await environmentInfo(host)).toMatchObject({ temporaryDirectories: [], tempDir: "file:///tmp" });
});

test("the shell is SHELL if it is one that clients know and it can be run", async () => {
	const directory = await temporaryDirectory();
	const zsh = `${directory}/zsh`;
	await writeFile(zsh, "#!/bin/sh\n");
	const shell = async () => (await environmentInfo({ env: { SHELL: zsh, PATH: "/bin" }, cwd: "/" })).shell;
	expect((await shell()).path).not.toBe(zsh);
	await chmod(zsh, 0o755);
	expect(await shell()).toEqual({ name: "zsh", path: zsh });
});

test.each(["/bin/ls", "bash", "/no/such/bash", "/bin", undefined])("another is found if SHELL is %s", async (SHELL) => {
	const { shell } = await environmentInfo({ env: { SHELL, PATH: "/usr/bin:/bin" }, cwd: "/" });
	expect(shell.path).toMatch(new RegExp(`^/(usr/)?(local/)?bin/${shell.name}$`));
	expect(["bash", "zsh", "sh"]).toContain(shell.name);
});

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
