/** The Python client against a real server: behavior, types and examples. */

import { execFile } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, it, onTestFinished, test } from "vitest";
import { CrashingServer } from "../../support/crashing-server.ts";
import { TestHawser } from "../../support/hawser-command.ts";
import { outcomeOf, runPython, startPython } from "../../support/python.ts";
import { eventually } from "../../support/reading.ts";
import { temporaryDirectory } from "../../support/temporary.ts";

const root = fileURLToPath(new URL("../../..", import.meta.url));

let hawser: TestHawser;
let env: NodeJS.ProcessEnv;
beforeAll(async () => {
	hawser = await TestHawser.create();
	env = { HAWSER_STATE_DIR: hawser.stateDir };
});
afterAll(() => hawser.remove());

test.each(["test_pieces.py", "test_server.py"])(
	"%s reports no problems",
	async (name) => {
		const { code, stderr } = await outcomeOf(startPython([`clients/python/tests/${name}`], { env }));
		expect({ code, stderr }).toEqual({
			code: 0,
			stderr: expect.stringMatching(/^\.+\n-+\nRan \d+ tests in .*\n\nOK\n$/),
		});
	},
	90_000,
);

test("without the package websockets the Python client says how to install it", async () => {
	// Without `site` there are no installed packages.
	const { code, stderr } = await outcomeOf(startPython(["-S", "-c", "import hawser"], { env }));
	expect({ code, last: stderr.trim().split("\n").at(-1) }).toEqual({
		code: 1,
		last:
			"ModuleNotFoundError: hawser needs the package websockets: pip install 'websockets>=10.4' " +
			"(Debian: apt install python3-websockets)",
	});
	expect(stderr).not.toContain("During handling");
});

it("the Python client returns every byte of a program in order", async () => {
	const code = `
import hawser.sync, sys
with hawser.sync.locate() as client:
    session = client.create(["cat"], mode="pipe")
    with session.attach() as attachment:
        attachment.write(bytes(range(256)) * 1024)
        attachment.eof()
        for data in attachment.chunks():
            sys.stdout.buffer.write(data.hex().encode())
    session.remove()
`;
	const every = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte)).toString("hex");
	expect(await runPython(["-c", code], { env })).toBe(every.repeat(1024));
});

it("the Python client continues with the server that locate finds after the old one was killed", async () => {
	const code = `
import asyncio, hawser, sys
async def main():
    async with hawser.locate(times=hawser.Times(first_retry=0.02, last_retry=0.2)) as client:
        session = await client.create(["cat"], mode="pipe")
        async with session.attach() as attachment:
            await attachment.write("one ")
            print("attached", flush=True)
            await asyncio.to_thread(sys.stdin.readline)
            await attachment.write("two")
            await attachment.eof()
            print(b"".join([data async for data in attachment.chunks()]).decode())
        await session.remove()
asyncio.run(main())
`;
	const child = startPython(["-c", code], { env });
	const outcome = outcomeOf(child);
	await once(child.stdout ?? child, "data");
	await hawser.stopServer("SIGKILL");
	await hawser.startServer();
	child.stdin?.end("\n");
	expect(await outcome).toEqual({ code: 0, stdout: "attached\none two\n", stderr: "" });
});

it("the Python client rejects an unknown certificate, and accepts a given one", async () => {
	const [certFile, keyFile] = [`${root}test/fixtures/tls-cert.pem`, `${root}test/fixtures/tls-key.pem`];
	// The address that the certificate was issued for.
	const settings = { host: "127.0.0.1", tls: { certFile, keyFile } };
	const server = new CrashingServer(await temporaryDirectory(), settings);
	onTestFinished(() => server.killAll());
	await server.start();
	const code = `
import asyncio, hawser, ssl, sys
url, token, cert = sys.argv[1:]
async def main():
    stranger = hawser.connect(url, token).at("any")
    for refused in (stranger.info(), anext(stranger.attach())):
        try:
            await refused
        except hawser.HawserError as error:
            print(error)
    async with hawser.connect(url, token, tls=ssl.create_default_context(cafile=cert)) as client:
        print((await client.run(["cat"], input="safe")).stdout)
asyncio.run(main())
`;
	const refusal = `can't verify the certificate of ${server.url}: self-signed certificate (permission_denied)\n`;
	expect(await runPython(["-c", code, server.url, await server.token(), certFile])).toBe(
		`${refusal.repeat(2)}b'safe'\n`,
	);
});

it("the Python client without asyncio stops on Ctrl-C while it waits", async () => {
	const code = `
import hawser.sync
with hawser.sync.locate() as client:
    session = client.create(["cat"], mode="pipe")
    print(session.id, flush=True)
    try:
        session.wait()
    finally:
        session.remove()
`;
	const child = startPython(["-c", code], { env });
	const outcome = outcomeOf(child);
	const [id] = (await once(child.stdout ?? child, "data")) as [Buffer];
	const session = (await hawser.client()).sessions.at(id.toString().trim());
	await eventually("the waiting client", async () => (await session.info()).attachments === 1);
	child.kill("SIGINT");
	expect(await outcome).toMatchObject({ stderr: expect.stringMatching(/^Traceback.*\nKeyboardInterrupt\n$/s) });
});

it("the Python client, its tests and its examples are typed", async () => {
	const args = ["--strict", "--cache-dir=/dev/null", "--python-executable=/usr/bin/python3"];
	const places = [
		"clients/python/hawser",
		"clients/python/tests",
		"examples/python/build.py",
		"examples/python/shell.py",
	];
	const { stdout } = await promisify(execFile)("mypy", [...args, ...places, "test/system/torture/support/echo.py"], {
		cwd: root,
		env: { ...process.env, MYPYPATH: "clients/python" },
	});
	expect(stdout).toMatch(/^Success: no issues found in \d+ source files\n$/);
}, 120_000);

/** The method for each API operation. Null for operations that the README excludes or that are not for programs. */
const methods: Readonly<Record<string, string | null>> = {
	createSession: "Client.create",
	listSessions: "Client.list",
	getSession: "Client.get",
	deleteSession: "Session.remove",
	updateSession: "Session.rename",
	detachAll: "Session.detach_all",
	killSession: "Session.kill",
	writeInput: "Session.write",
	pressKeys: "Session.keys",
	typeSecret: "Session.secret",
	requestSecret: "Session.request_secret",
	listSecretRequests: "Client.secret_requests",
	giveSecret: "Client.give_secret",
	refuseSecret: "Client.refuse_secret",
	resizeTerminal: "Session.resize",
	signalProgram: "Session.signal",
	endInput: "Session.eof",
	takeLease: "Session.take_lease",
	releaseLease: "Session.release_lease",
	readOutput: "Session.output",
	attachSession: "Session.attach",
	followEvents: "Client.events",
	createToken: "Client.create_token",
	listTokens: "Client.list_tokens",
	revokeToken: "Client.revoke_token",
	listApprovals: "Client.list_approvals",
	getApproval: "Client.get_approval",
	decideApproval: "Client.decide_approval",
	createTicket: "Client.create_ticket",
	createSignInLink: "Client.create_sign_in_link",
	getInfo: "Client.info",
	/** For pages and their users. */
	getMe: null,
	signInBrowser: null,
	followScreens: null,
	readActivity: null,
	showScreens: null,
	shareSession: null,
	listLinks: null,
	revokeLink: null,
	runCommand: "Session.exec",
	listCommands: "Session.commands",
	sendInput: "Session.send",
	readScreen: "Session.screen",
	readScrollback: "Session.scrollback",
	inspectSession: "Session.inspect",
	answerAgent: "Session.answer",
	promptAgent: "Session.prompt",
	listPrompts: "Session.prompts",
	cancelPrompt: "Session.cancel_prompt",
	listAttached: "Session.attached",
	recordSession: "Session.recording",
	importRecording: null,
	searchOutput: "Session.search",
	listWorkspaces: null,
	getWorkspace: null,
	putWorkspace: null,
	deleteWorkspace: null,
	listTasks: null,
	getTask: null,
	putTask: null,
	deleteTask: null,
	createWebhook: null,
	listWebhooks: null,
	deleteWebhook: null,
	adoptWebhook: null,
	testWebhook: null,
	listFailedNotices: null,
	retryNotices: null,
	listAudit: null,
	getHealth: null,
	getReadiness: null,
	getMetrics: null,
	getOpenApi: null,
	proveToken: null,
	showSignIn: null,
	signIn: null,
	signOut: null,
};

it("the Python client has a method for every API operation that it does not exclude", async () => {
	const { url } = JSON.parse(await readFile(`${hawser.stateDir}/server.json`, "utf8")) as { url: string };
	type Description = { paths: Record<string, Record<string, { operationId: string }>> };
	const { paths } = (await (await fetch(`${url}/openapi.json`)).json()) as Description;
	const described = Object.values(paths).flatMap((one) => Object.values(one).map(({ operationId }) => operationId));
	expect(described.toSorted()).toEqual(Object.keys(methods).toSorted());
	const names = Object.values(methods).filter((name) => name !== null);
	const code = `
import hawser, hawser.sync, operator, sys
for name in sys.argv[1:]:
    for module in (hawser, hawser.sync):
        assert callable(operator.attrgetter(name)(module)), name
`;
	expect(await runPython(["-c", code, ...names], { env })).toBe("");
});

it("the README's examples print what the README states", async () => {
	const readme = await readFile(`${root}clients/python/README.md`, "utf8");
	const examples = [...readme.matchAll(/^```python\n(.*?)^```/gms)].map(([, code = ""]) => code);
	const printed = await Promise.all(examples.map((code) => runPython(["-c", code], { env })));
	expect(printed.map((text) => text.replace(/^\d+ b'.*\n/gm, ""))).toEqual([
		"b'out\\n' b'err\\n' 3\nexit code 0\n",
		"42\n",
	]);
});

it("the shell example prints its answer", async () => {
	expect(await runPython(["examples/python/shell.py"], { env })).toBe("42\n");
});

it("the build example exits with the build's code, and continues a build that was started before", async () => {
	const build = (...args: string[]) => outcomeOf(startPython(["examples/python/build.py", ...args], { env }));
	const first = await build("echo out; echo err >&2; exit 3");
	const [, id = ""] = /^session (\w+)\n/.exec(first.stderr) ?? [];
	expect(first).toEqual({ code: 3, stdout: "out\n", stderr: `session ${id}\nerr\n` });
	expect(await build("--session", id)).toEqual({ code: 3, stdout: "out\n", stderr: "err\n" });
	expect(await build("--session", "unknown")).toMatchObject({ code: 1, stderr: expect.stringContaining("no session") });
});
