/** The published OpenSandbox SDK against this server, unchanged. */

import { ConnectionConfig, DefaultAdapterFactory, SandboxApiException } from "@alibaba-group/opensandbox";
import { CommandsAdapter, createExecdClient } from "@alibaba-group/opensandbox/internal";
import { describe, expect, onTestFinished, test } from "vitest";
import { eventually } from "../../../support/reading.ts";
import { type ExecdServer, type ExecdServerOptions, startExecd } from "./support/execd-server.ts";

const TOKEN = "secret-token";

function stackOf(server: ExecdServer, token = TOKEN) {
	const connectionConfig = new ConnectionConfig({
		headers: { "X-EXECD-ACCESS-TOKEN": token },
	}).withTransportIfMissing();
	onTestFinished(() => connectionConfig.closeTransport());
	return new DefaultAdapterFactory().createExecdStack({ connectionConfig, execdBaseUrl: server.url });
}

async function sdk(options: ExecdServerOptions = {}) {
	const server = await startExecd({ accessToken: TOKEN, ...options });
	return { server, ...stackOf(server) };
}

describe("commands", () => {
	test("6.7: echo: exactly one message, exit code 0, one init, one complete, recent timestamps", async () => {
		const { commands, health } = await sdk();
		await health.ping();
		let inits = 0;
		let completes = 0;
		const execution = await commands.run("echo Hello OpenSandbox E2E", undefined, {
			onInit: () => void inits++,
			onExecutionComplete: () => void completes++,
		});
		expect(execution.id).toMatch(/^[0-9a-f]{32}$/);
		expect(execution.exitCode).toBe(0);
		expect(execution.error).toBeUndefined();
		expect(execution.logs.stdout.map(({ text }) => text)).toEqual(["Hello OpenSandbox E2E"]);
		expect(execution.logs.stderr).toEqual([]);
		expect(Math.abs(Date.now() - (execution.logs.stdout[0]?.timestamp ?? 0))).toBeLessThan(60_000);
		expect([inits, completes]).toEqual([1, 1]);
	});

	test("6.7: pwd in /tmp; environment with and without a value", async () => {
		const { commands } = await sdk();
		const pwd = await commands.run("pwd", { workingDirectory: "/tmp" });
		expect(pwd.logs.stdout.map(({ text }) => text)).toEqual(["/tmp"]);
		const line = `echo "\${HAWSER_SDK_TEST:-__EMPTY__}"`;
		expect((await commands.run(line)).logs.stdout[0]?.text).toBe("__EMPTY__");
		const given = await commands.run(line, { envs: { HAWSER_SDK_TEST: "a b$c" } });
		expect(given.logs.stdout[0]?.text).toBe("a b$c");
	});

	test("6.7: an unknown command gives CommandExecError, stderr, no complete, and the code as the value", async () => {
		const { commands } = await sdk();
		let completes = 0;
		const execution = await commands.run("no_such_command_xyz", undefined, {
			onExecutionComplete: () => void completes++,
		});
		expect(execution.error?.name).toBe("CommandExecError");
		expect(execution.exitCode).toBe(Number(execution.error?.value));
		expect(execution.exitCode).toBe(127);
		expect(execution.logs.stderr[0]?.text).toContain("no_such_command_xyz");
		expect(completes).toBe(0);
	});

	test("blank lines, both channels, a line of 256 KiB, exit codes", async () => {
		const { commands } = await sdk();
		const both = await commands.run("printf 'a\\n\\nb\\n'; echo err >&2; exit 42");
		expect(both.logs.stdout.map(({ text }) => text)).toEqual(["a", "\n", "b"]);
		expect(both.logs.stderr.map(({ text }) => text)).toEqual(["err"]);
		expect(both.exitCode).toBe(42);
		const long = await commands.run("head -c 262144 /dev/zero | tr '\\0' x");
		expect(long.logs.stdout.map(({ text }) => text.length)).toEqual([262_144]);
	});

	test("runStream delivers events as they happen", async () => {
		const { commands } = await sdk();
		const types: string[] = [];
		for await (const event of commands.runStream("echo one; echo two >&2")) types.push(event.type);
		expect(types.filter((type) => type !== "ping").sort()).toEqual(["execution_complete", "init", "stderr", "stdout"]);
		expect(types.at(-1)).toBe("execution_complete");
	});

	test("a timeout is an error with the code -1", async () => {
		const { commands } = await sdk();
		const execution = await commands.run("sleep 1000", { timeoutSeconds: 1 });
		expect([execution.exitCode, execution.error?.traceback]).toEqual([-1, ["signal: killed"]]);
	});

	test("6.7: in the background: returns at once without an exit code; status, log with cursors, interrupt", async () => {
		const { commands } = await sdk();
		const execution = await commands.run("echo one; echo two >&2; sleep 1000", { background: true });
		const id = execution.id ?? "";
		expect(id).toMatch(/^[0-9a-f]{32}$/);
		expect(execution.exitCode ?? null).toBeNull();
		expect(await commands.getCommandStatus(id)).toMatchObject({ id, running: true });
		const first = await eventually("both lines", async () => {
			const log = await commands.getBackgroundCommandLogs(id);
			return log.content === "one\ntwo\n" && log;
		});
		expect(first.cursor).toBe(8);
		expect(await commands.getBackgroundCommandLogs(id, first.cursor)).toMatchObject({ content: "", cursor: 8 });
		await commands.interrupt(id);
		const status = await commands.getCommandStatus(id);
		expect(status).toMatchObject({ running: false, exitCode: -1, error: "signal: terminated" });
		expect(status.finishedAt).toBeInstanceOf(Date);
		await expect(commands.interrupt(id)).rejects.toMatchObject({ statusCode: 500 });
	});

	test("a foreground command is interrupted through its id", async () => {
		const { commands } = await sdk();
		let onInit = (_id: string) => {};
		const initialised = new Promise<string>((resolve) => {
			onInit = resolve;
		});
		const running = commands.run("sleep 1000", undefined, { onInit: ({ id }) => onInit(id) });
		await commands.interrupt(await initialised);
		const execution = await running;
		expect([execution.exitCode, execution.error?.traceback]).toEqual([-1, ["signal: terminated"]]);
	});
});

describe("sessions", () => {
	test("6.7: sessions keep cwd, override it and return, keep env, report exit 7, and two sessions are deleted", async () => {
		const { commands } = await sdk();
		const session = await commands.createSession({ workingDirectory: "/tmp" });
		const texts = async (
			line: string,
			options?: { workingDirectory?: string; timeoutSeconds?: number },
			id = session,
		) => (await commands.runInSession(id, line, options)).logs.stdout.map(({ text }) => text);
		expect(await texts("pwd")).toEqual(["/tmp"]);
		expect(await texts("pwd", { workingDirectory: "/var" })).toEqual(["/var"]);
		expect(await texts("pwd", { workingDirectory: "/tmp" })).toEqual(["/tmp"]);
		await commands.runInSession(session, "export E2E=persists");
		expect(await texts("echo $E2E", { timeoutSeconds: 30 })).toEqual(["persists"]);
		const failed = await commands.runInSession(session, "sh -c 'echo before; exit 7'");
		expect([failed.error?.name, failed.error?.value, failed.exitCode, failed.complete]).toEqual([
			"CommandExecError",
			"7",
			7,
			undefined,
		]);
		const other = await commands.createSession();
		expect(await texts(`echo \${E2E:-none}`, undefined, other)).toEqual(["none"]);
		await commands.deleteSession(session);
		await commands.deleteSession(other);
		await expect(commands.deleteSession(other)).rejects.toMatchObject({ statusCode: 404 });
		await expect(commands.runInSession(session, "true")).rejects.toMatchObject({ statusCode: 404 });
	});

	test("runInSessionStream and a timeout work through the adapter", async () => {
		const server = await startExecd({ accessToken: TOKEN });
		const where = { baseUrl: server.url, headers: { "X-EXECD-ACCESS-TOKEN": TOKEN } };
		const commands = new CommandsAdapter(createExecdClient(where), where);
		const session = await commands.createSession();
		const types: string[] = [];
		for await (const event of commands.runInSessionStream(session, "echo hi")) types.push(event.type);
		expect(types.filter((type) => type !== "ping")).toEqual(["init", "stdout", "execution_complete"]);
		const late = await commands.runInSession(session, "sleep 1000", { timeoutSeconds: 1 });
		expect([late.exitCode, late.error?.traceback]).toEqual([-1, ["timeout after 1s"]]);
		await commands.deleteSession(session);
	});
});

describe("errors", () => {
	test("1.2: a wrong token is 401 everywhere", async () => {
		const { server } = await sdk();
		const { commands, health } = stackOf(server, "wrong");
		for (const call of [
			() => health.ping(),
			() => commands.run("true"),
			() => commands.createSession(),
			() => commands.getCommandStatus("x"),
		])
			await expect(call()).rejects.toMatchObject({ statusCode: 401 });
		const response = await server.request("/ping", { headers: { "x-execd-access-token": "wrong" } });
		expect(await response.json()).toEqual({
			error: "Unauthorized: invalid or missing header X-EXECD-ACCESS-TOKEN",
		});
	});

	test("refusals carry the status and the code", async () => {
		const { commands } = await sdk();
		const refused = commands.run("true", { workingDirectory: "/no/such/directory" });
		await expect(refused).rejects.toBeInstanceOf(SandboxApiException);
		await expect(refused).rejects.toMatchObject({ statusCode: 400, error: { code: "INVALID_REQUEST_BODY" } });
		await expect(commands.getCommandStatus("unknown")).rejects.toMatchObject({ statusCode: 404 });
		await expect(commands.getBackgroundCommandLogs("unknown")).rejects.toMatchObject({ statusCode: 400 });
		await expect(commands.interrupt("unknown")).rejects.toMatchObject({ statusCode: 500 });
	});
});
