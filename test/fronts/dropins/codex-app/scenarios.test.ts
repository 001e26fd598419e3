/** The scenarios of Codex's own test suite (contract §4), by number. */

import { mkdir, readFile, symlink } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { eventually } from "../../../support/reading.ts";
import { temporaryDirectory } from "../../../support/temporary.ts";
import { RpcFailure } from "./support/app-client.ts";
import { inDirectory, isThere, startApp, startWithoutBubblewrap, workspace } from "./support/app-harness.ts";

function setEnv(name: string, value: string): void {
	const before = process.env[name];
	process.env[name] = value;
	onTestFinished(() => {
		if (before === undefined) delete process.env[name];
		else process.env[name] = before;
	});
}

const sh = (script: string) => ["sh", "-lc", script];
const withoutReturns = (text: string) => text.replaceAll("\r", "");

describe("command/exec scenarios", () => {
	it("1: a command that is not streamed can be terminated, also at once", async () => {
		const client = await (await startApp()).client();
		const answer = client.exec(sh("sleep 30"), { processId: "sleep-1" });
		expect(await client.terminate("sleep-1")).toEqual({});
		expect(await answer).toEqual({ exitCode: 137, stdout: "", stderr: "" });
	});

	it("2: without a name it is answered with all of its output", async () => {
		const client = await (await startApp()).client();
		const script = "printf 'legacy-out'; printf 'legacy-err' >&2";
		expect(await client.exec(sh(script))).toEqual({ exitCode: 0, stdout: "legacy-out", stderr: "legacy-err" });
	});

	it("3: the request overrides, adds and unsets variables, except the server's identity", async () => {
		setEnv("COMMAND_EXEC_BASELINE", "server");
		setEnv("RUST_LOG", "info");
		setEnv("CODEX_HOME", "/tmp/codex-home");
		const client = await (await startApp()).client();
		const script =
			'printf "%s|%s|%s|%s|%s|%s" "$COMMAND_EXEC_BASELINE" "$COMMAND_EXEC_EXTRA" "$(printenv RUST_LOG || echo unset)" ' +
			'"$CODEX_HOME" "$OPENAI_FEDERATION_RULE_ID" "$openai_identity_token_file"';
		const env = {
			COMMAND_EXEC_BASELINE: "request",
			COMMAND_EXEC_EXTRA: "added",
			RUST_LOG: null,
			NEVER_SET: null,
			OPENAI_FEDERATION_RULE_ID: "x",
			openai_identity_token_file: "y",
		};
		const { stdout } = await client.exec(["sh", "-c", script], { env });
		expect(stdout).toBe("request|added|unset|/tmp/codex-home||");
	});

	it("4: the server's own variables are neither inherited nor settable", async () => {
		setEnv("CODEX_APPLY_PATCH_PRESERVE_LINE_ENDINGS", "inherited");
		const client = await (await startApp()).client();
		const env = { CODEX_APPLY_PATCH_PRESERVE_LINE_ENDINGS: "requested", HAWSER_SESSION: "requested" };
		const script = "printenv CODEX_APPLY_PATCH_PRESERVE_LINE_ENDINGS || echo absent; printenv HAWSER_SESSION";
		const { stdout } = await client.exec(["sh", "-c", script], { env });
		expect(stdout).toMatch(/^absent\n(?!requested)[a-z0-9]+\n$/);
	});

	it("5: a permission profile is enforced, or refused where nothing can enforce it", async () => {
		const experimental = { experimentalApi: true };
		const profile = { permissionProfile: ":read-only" };
		const client = await (await startApp()).client(experimental);
		expect(await client.exec(["printf", "profile"], profile)).toEqual({ exitCode: 0, stdout: "profile", stderr: "" });
		expect(await client.sh("echo x > /tmp/hawser-new", profile)).toMatchObject({
			exitCode: 2,
			stderr: expect.stringContaining("Read-only file system"),
		});
		const bare = await (await startWithoutBubblewrap()).client(experimental);
		await expect(bare.exec(["printf", "profile"], profile)).rejects.toMatchObject({
			code: -32600,
			message: expect.stringMatching(/^invalid permission profile: readOnly can't be enforced here: bubblewrap is not/),
		});
	});

	it("6: a policy that can't be enforced is refused for every caller, and never ignored", async () => {
		const file = join(await temporaryDirectory(), "written");
		const refusal = {
			code: -32600,
			message: expect.stringMatching(/^invalid sandbox policy: .*bubblewrap is not installed/),
		};
		const client = await (await startWithoutBubblewrap()).client();
		for (const sandboxPolicy of [{ type: "readOnly" }, { type: "workspaceWrite", writableRoots: ["/tmp"] }])
			await expect(client.exec(["touch", file], { sandboxPolicy })).rejects.toMatchObject(refusal);
		const configured = await startWithoutBubblewrap({ policy: { type: "readOnly", networkAccess: true } });
		await expect((await configured.client()).exec(["touch", file])).rejects.toMatchObject(refusal);
		await expect(readFile(file)).rejects.toThrow("ENOENT");
		// A request that restricts nothing runs.
		for (const type of ["dangerFullAccess", "externalSandbox"])
			expect((await client.exec(["true"], { sandboxPolicy: { type } })).exitCode).toBe(0);
	});

	it("6: a sandbox failure is not reported as the command's failure", async () => {
		const root = await temporaryDirectory();
		await symlink("/tmp", join(root, ".git"));
		const client = await (await startApp()).client();
		const exec = (writableRoots: string[], env = {}) =>
			client.exec(["true"], { processId: "p", env, sandboxPolicy: { type: "workspaceWrite", writableRoots } });
		const fault = (text: string) => ({ code: -32603, message: expect.stringMatching(`^exec failed: .*${text}`) });
		await expect(exec([root])).rejects.toMatchObject(fault("crosses writable symlink"));
		await expect(exec(["/proc/sys"])).rejects.toMatchObject(fault("nothing in /proc can be made writable"));
		await expect(exec([], { TMPDIR: "/" })).rejects.toMatchObject(fault('TMPDIR is "/"'));
		expect((await client.exec(["true"], { processId: "p" })).exitCode).toBe(0);
	});

	it("7: only policies that restrict the network announce that to the command", async () => {
		const client = await (await startApp()).client();
		const asked = async (sandboxPolicy: object | null) => {
			const script = "printenv CODEX_SANDBOX_NETWORK_DISABLED || echo unset";
			return (await client.exec(["sh", "-c", script], { sandboxPolicy })).stdout;
		};
		expect(await asked({ type: "readOnly" })).toBe("1\n");
		expect(await asked({ type: "readOnly", networkAccess: true })).toBe("unset\n");
		expect(await asked({ type: "externalSandbox" })).toBe("1\n");
		expect(await asked({ type: "externalSandbox", networkAccess: "enabled" })).toBe("unset\n");
		expect(await asked({ type: "dangerFullAccess" })).toBe("unset\n");
		expect(await asked(null)).toBe("unset\n");
	});

	it("8: a profile's workspace is the command's directory, a policy's is the server's", async () => {
		const [server, command] = [await workspace(), await workspace()];
		const client = await (await inDirectory(server, startApp)).client({ experimentalApi: true });
		await mkdir(join(command, "command-cwd"));
		const script = `echo x > child.txt && echo own; echo x > ../parent.txt && echo parent; echo x > ${server}/new && echo server`;
		const wrote = async (params: object) =>
			(await client.sh(script, { cwd: join(command, "command-cwd"), ...params })).stdout;
		expect(await wrote({ permissionProfile: ":workspace" })).toBe("own\n");
		expect(await wrote({ sandboxPolicy: { type: "workspaceWrite" } })).toBe("server\n");
		expect(await wrote({ sandboxPolicy: { type: "workspaceWrite", writableRoots: [command] } })).toBe(
			"own\nparent\nserver\n",
		);
	});

	it("9: a server configured to leave commands to another runs none", async () => {
		setEnv("CODEX_EXEC_SERVER_URL", "none");
		const client = await (await startApp()).client();
		const refusal = new RpcFailure(-32603, "local environment is not configured");
		await expect(client.exec(["true"])).rejects.toEqual(refusal);
		await expect(client.exec([])).rejects.toEqual(refusal);
	});

	const nonsense: [number, object, number, string][] = [
		[
			10,
			{ sandboxPolicy: { type: "dangerFullAccess" }, permissionProfile: ":read-only" },
			-32600,
			"`permissionProfile` cannot be combined with `sandboxPolicy`",
		],
		[
			11,
			{ timeoutMs: 1000, disableTimeout: true },
			-32602,
			"command/exec cannot set both timeoutMs and disableTimeout",
		],
		[
			12,
			{ outputBytesCap: 1024, disableOutputCap: true },
			-32602,
			"command/exec cannot set both outputBytesCap and disableOutputCap",
		],
		[13, { timeoutMs: -1 }, -32602, "command/exec timeoutMs must be non-negative, got -1"],
		[14, { streamStdoutStderr: true }, -32600, "command/exec tty or streaming requires a client-supplied processId"],
	];
	it.each(nonsense)("%i: %o is refused", async (_number, params, code, message) => {
		const client = await (await startApp()).client({ experimentalApi: true });
		await expect(client.exec(sh("true"), { ...params })).rejects.toEqual(new RpcFailure(code, message));
	});

	it("15: a cap limits each stream of an answer separately", async () => {
		const client = await (await startApp()).client();
		const answer = await client.exec(sh("printf 'abcdef'; printf 'uvwxyz' >&2"), { outputBytesCap: 5 });
		expect(answer).toEqual({ exitCode: 0, stdout: "abcde", stderr: "uvwxy" });
	});

	it("16: a cap ends the stream that reached it, and the command continues", async () => {
		const client = await (await startApp()).client();
		const script = "printf 'abcdefghij'; sleep 30";
		const streaming = { processId: "cap-1", streamStdoutStderr: true, outputBytesCap: 5 };
		const answer = client.exec(sh(script), streaming);
		await client.until(() => client.deltas("cap-1").capped.stdout || undefined);
		expect(client.deltas("cap-1").text()).toBe("abcde");
		expect(await client.terminate("cap-1")).toEqual({});
		expect(await answer).toEqual({ exitCode: 137, stdout: "", stderr: "" });
	});

	it("17: input and output of a command on pipes are streamed", async () => {
		const client = await (await startApp()).client();
		const script =
			"printf 'out-start\\n'; printf 'err-start\\n' >&2; IFS= read line; printf 'out:%s\\n' \"$line\"; printf 'err:%s\\n' \"$line\" >&2";
		const answer = client.exec(sh(script), { processId: "pipe-1", streamStdin: true, streamStdoutStderr: true });
		await client.output("pipe-1", "out-start\n");
		await client.output("pipe-1", "err-start\n", "stderr");
		expect(await client.write("pipe-1", "hello\n", true)).toEqual({});
		expect(await answer).toEqual({ exitCode: 0, stdout: "", stderr: "" });
		expect(client.deltas("pipe-1").text()).toBe("out-start\nout:hello\n");
		expect(client.deltas("pipe-1").text("stderr")).toBe("err-start\nerr:hello\n");
	});

	it("18: a terminal is streamed by default", async () => {
		const client = await (await startApp()).client();
		const script =
			"stty -echo; if [ -t 0 ]; then printf 'tty\\n'; else printf 'notty\\n'; fi; IFS= read line; printf 'echo:%s\\n' \"$line\"";
		const answer = client.exec(sh(script), { processId: "tty-1", tty: true });
		await client.output("tty-1", "tty");
		expect(await client.write("tty-1", "world\n", true)).toEqual({});
		expect(await answer).toEqual({ exitCode: 0, stdout: "", stderr: "" });
		expect(withoutReturns(client.deltas("tty-1").text())).toContain("echo:world\n");
		expect(client.deltas("tty-1").chunks.stderr).toEqual([]);
	});

	it("19: a terminal has the requested size, and changes it on request", async () => {
		const client = await (await startApp()).client();
		const script =
			"stty -echo; printf 'start:%s\\n' \"$(stty size)\"; IFS= read _line; printf 'after:%s\\n' \"$(stty size)\"";
		const answer = client.exec(sh(script), { processId: "size-1", tty: true, size: { rows: 31, cols: 101 } });
		expect(withoutReturns(await client.output("size-1", "\n"))).toContain("start:31 101\n");
		expect(await client.resize("size-1", 45, 132)).toEqual({});
		await client.write("size-1", "go\n");
		expect((await answer).exitCode).toBe(0);
		expect(withoutReturns(client.deltas("size-1").text())).toContain("after:45 132\n");
	});

	it("20: a name belongs to its connection, and its command ends with the connection", async () => {
		const app = await startApp();
		const [one, two] = [await app.client(), await app.client()];
		const processId = "shared-process";
		const answer = one.sh("echo ready $$; exec sleep 30", { processId, streamStdoutStderr: true });
		answer.catch(() => {});
		const pid = Number((await one.output(processId, "\n")).split(" ")[1]);
		const refusal = new RpcFailure(-32600, 'no active command/exec for process id "shared-process"');
		await expect(two.terminate(processId)).rejects.toEqual(refusal);
		// The other connection is independent: it can use the same name.
		expect(await two.sh("echo mine", { processId, streamStdoutStderr: true })).toMatchObject({ exitCode: 0 });
		expect(two.deltas(processId).text()).toBe("mine\n");
		expect(two.messages.filter(({ method }) => method !== undefined)).toHaveLength(1);
		expect(isThere(pid)).toBe(true);
		one.cut();
		await eventually("the end of the process", () => !isThere(pid));
	});

	it("explicit null counts as an omitted member", async () => {
		const client = await (await startApp()).client();
		const nulls = [
			"processId",
			"outputBytesCap",
			"timeoutMs",
			"cwd",
			"env",
			"size",
			"sandboxPolicy",
			"permissionProfile",
		];
		const params = Object.fromEntries(nulls.map((name) => [name, null]));
		expect(await client.exec(["echo", "nulls"], params)).toEqual({ exitCode: 0, stdout: "nulls\n", stderr: "" });
		await expect(client.exec(["true"], { tty: null })).rejects.toEqual(
			new RpcFailure(-32600, "Invalid request: invalid type: null, expected a boolean"),
		);
	});
});

describe("order of validation", () => {
	it("the order of validation equals the real server's: each request also has all later faults", async () => {
		const client = await (await startApp()).client({ experimentalApi: true });
		client.exec(["sleep", "1000"], { processId: "taken", disableTimeout: true }).catch(() => {});
		const faults: [object, string][] = [
			[{ tty: 5 }, "Invalid request: invalid type: integer `5`, expected a boolean"],
			[{ command: [] }, "command must not be empty"],
			[{ sandboxPolicy: { type: "readOnly" } }, "`permissionProfile` cannot be combined with `sandboxPolicy`"],
			[{ tty: false }, "command/exec size requires tty: true"],
			[{ outputBytesCap: 1 }, "command/exec cannot set both outputBytesCap and disableOutputCap"],
			[{ disableTimeout: true }, "command/exec cannot set both timeoutMs and disableTimeout"],
			[{ timeoutMs: -1 }, "command/exec timeoutMs must be non-negative, got -1"],
			[{ permissionProfile: ":none" }, "invalid permission profile: "],
			[{ size: { rows: 0, cols: 1 } }, "command/exec size rows and cols must be greater than 0"],
			[{ processId: null }, "command/exec tty or streaming requires a client-supplied processId"],
			[{ processId: "taken" }, 'duplicate active command/exec process id: "taken"'],
			[{ command: [""] }, "failed to spawn command: missing program for PTY spawn"],
		];
		const sound = {
			command: ["true"],
			processId: "free",
			tty: true,
			size: { rows: 1, cols: 1 },
			disableOutputCap: true,
			timeoutMs: 5,
			permissionProfile: ":danger-full-access",
		};
		for (const [at, [, text]] of faults.entries()) {
			const params = Object.assign(
				{},
				sound,
				...faults
					.slice(at)
					.map(([fault]) => fault)
					.reverse(),
			);
			await expect(client.request("command/exec", params)).rejects.toMatchObject({
				message: expect.stringContaining(text),
			});
		}
		await client.request("command/exec", sound);
	});

	it("the order of validation is the same for policies that can't be enforced here", async () => {
		const client = await (await startWithoutBubblewrap()).client();
		const params = { command: ["true"], tty: true, sandboxPolicy: { type: "readOnly" } };
		const before = client.request("command/exec", { ...params, timeoutMs: -1 });
		await expect(before).rejects.toThrow("command/exec timeoutMs must be non-negative");
		const after = client.request("command/exec", { ...params, size: { rows: 0, cols: 1 } });
		await expect(after).rejects.toThrow("invalid sandbox policy: ");
	});
});
