/** Requests for approval can't be approved from inside a session, by any route. */

import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { ApprovalMessage, Client } from "../../../src/client/index.ts";
import { Terminal } from "../../support/cli-terminal.ts";
import { main, result, TestHawser } from "../../support/hawser-command.ts";
import { eventually } from "../../support/reading.ts";
import { temporaryDirectory } from "../../support/temporary.ts";

let hawser: TestHawser;
let operator: Client;
beforeAll(async () => {
	hawser = await TestHawser.create();
	operator = await hawser.client();
});
afterAll(() => hawser.remove());

const BY_COMMAND = /this command runs in session \w+, which cannot approve actions/;
const IN_SESSION = /nothing can be approved by a request that comes from a program in session \w+/;
const GONE = /nothing can be approved by a request that comes from a process that has ended since/;
const PROXIED = /nothing can be approved by a request that comes through the server's own proxy/;

/** An agent's request that waits for approval, and its outcome. */
async function held(): Promise<{ approval: ApprovalMessage; ended: ReturnType<typeof result> }> {
	const { token } = await operator.tokens.create({ scopes: ["workspace:default:manage"], gate: { match: ["touch"] } });
	const session = await hawser.detached("cat");
	const ended = result(hawser.start(["send", session, "touch it", "--enter"], { HAWSER_TOKEN: token }));
	const approval = await eventually("an action to approve", async () =>
		(await operator.approvals.list()).find((one) => one.session.id === session),
	);
	return { approval, ended };
}

/** An approving request as a Python program makes it. `%s` is how it connects. */
const request = (connect: string, path: string) => `
import json, os, re, socket, sys, time
state = os.environ["HAWSER_STATE_DIR"]
announced = json.load(open(state + "/server.json"))
token = open(state + "/admin-token").read().strip()
port = int(announced["url"].rstrip("/").rsplit(":", 1)[1])
body = json.dumps({"decision": "grant", "evenIfChanged": True})
path = "${path}".replace("PORT", str(port))
text = f"POST {path} HTTP/1.1\\r\\nhost: 127.0.0.1:{port}\\r\\nauthorization: Bearer {token}\\r\\nx-execd-access-token: {token}\\r\\n"
text += f"content-type: application/json\\r\\ncontent-length: {len(body)}\\r\\nconnection: close\\r\\n\\r\\n{body}"
${connect}
connection.sendall(text.encode())
answer = b""
while part := connection.recv(65536): answer += part
print(answer.decode())
`;
const TCP = 'connection = socket.create_connection(("127.0.0.1", port))';
const UNIX = 'connection = socket.socket(socket.AF_UNIX); connection.connect(announced["socket"])';
/** The connecting process has exited when its child sends the request. */
const HANDED_OVER = `${UNIX}
if os.fork() > 0: os._exit(0)
while os.getppid() == parent: time.sleep(0.01)`;

type Road = { readonly refusal: RegExp; readonly script?: string; readonly command: string };

const python =
	(refusal: RegExp, connect: string, prefix = "") =>
	(id: string, file: string) => ({
		refusal,
		script: request(connect, `${prefix}/v1/approvals/${id}`),
		command: `python3 ${file}`,
	});
const command = (refusal: RegExp, before: string) => (id: string) => ({
	refusal,
	command: `${before} '${process.execPath}' '${main}' approve ${id}`,
});
const roads: Readonly<Record<string, (id: string, file: string) => Road>> = {
	"hawser approve": command(BY_COMMAND, "env"),
	"hawser approve without its variables": command(IN_SESSION, "env -u HAWSER_SESSION -u HAWSER_WITHIN"),
	"hawser approve in another session of the kernel": command(IN_SESSION, "env -u HAWSER_SESSION setsid -w"),
	"hawser approve on another terminal": (id, file) => ({
		refusal: IN_SESSION,
		command: `env -u HAWSER_SESSION script -qec "'${process.execPath}' '${main}' approve ${id}" ${file}.typescript`,
	}),
	"a request over the local socket": python(IN_SESSION, UNIX),
	"a request over TCP": python(IN_SESSION, TCP),
	"a request over a connection whose creator has exited": python(GONE, `parent = os.getpid()\n${HANDED_OVER}`),
	"a request through the server's own proxy": python(PROXIED, TCP, "/opensandbox/proxy/PORT"),
};

it.each(Object.entries(roads))("%s approves nothing from inside a session", async (_, road) => {
	const directory = await temporaryDirectory();
	const { approval, ended } = await held();
	const file = join(directory, "program");
	const { refusal, script = "", command } = road(approval.id, file);
	await writeFile(file, script);
	const run = `HAWSER_STATE_DIR='${hawser.stateDir}' ${command}`;
	await hawser.detached(`cd ${directory}; ( ${run} ) >> out 2>&1; sleep 1000`);
	const out = await eventually("an answer", async () => {
		const text = await readFile(join(directory, "out"), "utf8").catch(() => "");
		return /cannot approve|nothing can be approved|granted/.test(text) && text;
	});
	expect(out.replaceAll(/\s+/g, " ")).toMatch(refusal);
	expect(await operator.approvals.get(approval.id)).toMatchObject({ state: "asked" });
	// The same command approves it from outside.
	expect(await hawser.run(["approve", approval.id, "--even-if-changed"])).toMatchObject({ code: 0 });
	expect((await ended).code).toBe(0);
});

it("hawser approve on the session's own terminal is refused without a question", async () => {
	const { approval, ended } = await held();
	const command = `'${process.execPath}' '${main}' approve ${approval.id}; echo "<code $?>"; sleep 1000`;
	const id = await hawser.detached(`HAWSER_STATE_DIR='${hawser.stateDir}' ${command}`);
	const shown = await eventually("the end of the command", async () => {
		const text = new TextDecoder().decode((await operator.sessions.at(id).output()).bytes);
		return /<code \d+>|\[y\/N\]/.test(text) && text;
	});
	expect(shown.replaceAll(/\s+/g, " ")).toMatch(BY_COMMAND);
	expect(shown).not.toContain("[y/N]");
	expect(await operator.approvals.get(approval.id)).toMatchObject({ state: "asked" });
	await operator.approvals.decide(approval.id, { decision: "deny" });
	await ended;
});

it("a request over TCP approves nothing when its sender exits at once", async () => {
	const directory = await temporaryDirectory();
	const { approval, ended } = await held();
	const refusals = async () => {
		const { entries } = await operator.audit({ action: "refused", limit: 1_000 });
		return entries.filter(({ route }) => route === "POST /v1/approvals/:id").length;
	};
	const before = await refusals();
	const file = join(directory, "program");
	const script = request(TCP, `/v1/approvals/${approval.id}`).replace(/^answer = [\s\S]*/m, "os._exit(0)\n");
	await writeFile(file, script);
	await hawser.detached(`HAWSER_STATE_DIR='${hawser.stateDir}' python3 ${file}; sleep 1000`);
	await eventually("the refusal", async () => (await refusals()) > before);
	expect(await operator.approvals.get(approval.id)).toMatchObject({ state: "asked" });
	await operator.approvals.decide(approval.id, { decision: "deny" });
	await ended;
});

it("a request from inside a session may deny", async () => {
	const { approval, ended } = await held();
	const run = `HAWSER_STATE_DIR='${hawser.stateDir}' '${process.execPath}' '${main}' approve ${approval.id} --deny`;
	await hawser.detached(`${run}; sleep 1000`);
	expect(await ended).toMatchObject({ code: 1, stderr: expect.stringContaining("denied") });
});

it("a command whose environment names a session approves nothing without a terminal", async () => {
	const { approval, ended } = await held();
	const refused = await hawser.run(["approve", approval.id], { env: { HAWSER_SESSION: "abc" }, input: "y\n" });
	expect(refused).toMatchObject({
		code: 1,
		stderr: expect.stringMatching(/in session abc, which cannot approve actions/),
	});
	expect(await operator.approvals.get(approval.id)).toMatchObject({ state: "asked" });
	await operator.approvals.decide(approval.id, { decision: "deny" });
	await ended;
});

it.each([
	["n", "asked", 1],
	["", "asked", 1],
	["y", "granted", 0],
])("a command whose environment names a session asks on the terminal, and accepts %j", async (key, state, code) => {
	const { approval, ended } = await held();
	const before = "export HAWSER_SESSION=abc";
	const terminal = await Terminal.start(hawser, ["approve", approval.id, "--even-if-changed"], { before });
	await terminal.shows("Approve it? [y/N]");
	expect(terminal.output).toMatch(/session abc; about to approve:.*input in .*touch it/s);
	await terminal.type(`${key}\r`);
	expect(await terminal.ended()).toMatchObject({ code });
	expect(await operator.approvals.get(approval.id)).toMatchObject({ state });
	if (state === "asked") await operator.approvals.decide(approval.id, { decision: "deny" });
	await ended;
});
