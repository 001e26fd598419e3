/** Every way for a token with a gate to act on a session. */

import { onTestFinished } from "vitest";
import { connect, type Session } from "../../../src/client/index.ts";
import { AppClient } from "../../fronts/dropins/codex-app/support/app-client.ts";
import { ExecClient } from "../../fronts/dropins/codex-exec/support/exec-client.ts";
import { sh } from "../../fronts/dropins/codex-exec/support/exec-harness.ts";
import { openLink } from "../../fronts/dropins/codex-exec/support/exec-link.ts";
import { callTool, connectOverHttp } from "../../support/mcp-client.ts";

type Caller = { readonly url: string; readonly token: string };

type InputPath = (by: Caller, session: Session) => Promise<unknown>;

const at = (by: Caller, { id }: Session) => connect(by).sessions.at(id);

async function post(path: string, { url, token }: Caller, body: object): Promise<string> {
	const headers = {
		authorization: `Bearer ${token}`,
		"x-execd-access-token": token,
		"content-type": "application/json",
	};
	const response = await fetch(`${url}${path}`, { method: "POST", body: JSON.stringify(body), headers });
	const text = await response.text();
	if (response.status >= 400) throw new Error(text);
	return text;
}

async function mcp(by: Caller, tool: string, args: Record<string, unknown>): Promise<void> {
	const client = await connectOverHttp(by, "2026-07-28");
	onTestFinished(() => client.close());
	const { text, isError } = await callTool(client, tool, args);
	if (isError) throw new Error(text);
}

const linkTo = (path: string, { url, token }: Caller) =>
	openLink(`${url.replace("http", "ws")}${path}`, { authorization: `Bearer ${token}` });

/** Text with Enter at its end, in one call. */
export const linesInOneCall: Readonly<Record<string, InputPath>> = {
	send: (by, session) => at(by, session).send({ text: "rm -rf it", keys: ["Enter"] }),
	"send, pasted": (by, session) => at(by, session).send({ text: "rm -rf it", paste: true, keys: ["Enter"] }),
	"the tool send": (by, { id }) => mcp(by, "send", { session: id, text: "rm -rf it", keys: ["Enter"] }),
	"the tool send, pasted": (by, { id }) =>
		mcp(by, "send", { session: id, text: "rm -rf it", paste: true, keys: ["Enter"] }),
};

/** Every action by every route. If the action does not match, or the route is not gated, it is executed. */
export const inputPaths: Readonly<Record<string, InputPath>> = {
	"POST …/input": (by, session) => at(by, session).write("rm -rf x\r"),
	"POST …/keys": (by, session) => at(by, session).keys(["text:rm -rf x", "Enter"]),
	"POST …/send": (by, session) => at(by, session).send({ text: "rm -rf x", keys: ["Enter"] }),
	"POST …/run": (by, session) => at(by, session).exec("rm -rf x"),
	"POST …/signal": (by, session) => at(by, session).signal("INT"),
	"POST …/eof": async (by, session) => {
		await at(by, session).write("rm -rf x");
		await at(by, session).eof();
	},
	"^D within a line": (by, session) => at(by, session).write("rm -\x04rf x\r"),
	"a key that runs a line without Enter": (by, session) => at(by, session).write("rm -rf x\x18\x05"),
	"a paste with ^U": (by, session) => at(by, session).write("\x1b[200~rm -rf x;\x15true\x1b[201~\r"),
	"a command with ^U": (by, session) => at(by, session).exec("rm -rf x #\x15"),
	"two halves of a line around a command that is not run": async (by, session) => {
		await at(by, session).write("rm -");
		await post(`/v1/sessions/${session.id}/run`, by, { command: "true", timeoutMs: 100 });
		await at(by, session).write("rf x\r");
	},
	"POST …/kill": (by, session) => at(by, session).kill(),
	"DELETE …": (by, session) => at(by, session).remove(),
	"POST /v1/sessions": (by) => post("/v1/sessions", by, { command: "rm -rf x" }),
	"a key that signals": (by, session) => at(by, session).keys(["C-c"]),
	"a WebSocket": async (by, session) => {
		const attachment = at(by, session).attach({ since: "end" });
		onTestFinished(() => attachment.detach());
		await attachment.write("rm -rf x\r");
	},
	"send over a WebSocket": async (by, session) => {
		const attachment = at(by, session).attach({ since: "end" });
		onTestFinished(() => attachment.detach());
		await attachment.send({ text: "rm -rf x", keys: ["Enter"] });
	},
	"the tool run": (by, session) => mcp(by, "run", { session: session.id, command: "rm -rf x" }),
	"the tool start": (by) => mcp(by, "start", { command: "rm -rf x" }),
	"the tool send": (by, session) => mcp(by, "send", { session: session.id, text: "rm -rf x", keys: ["Enter"] }),
	"the tool stop": (by, session) => mcp(by, "stop", { session: session.id }),
	"a command of OpenSandbox": (by) => post("/opensandbox/command", by, { command: "rm -rf x" }),
	"a run of OpenSandbox": async (by) => {
		const { session_id: id } = JSON.parse(await post("/opensandbox/session", by, {})) as { session_id: string };
		await post(`/opensandbox/session/${id}/run`, by, { command: "rm -rf x" });
	},
	"Codex exec-server": async (by) => {
		const link = await linkTo("/codex/exec-server", by);
		const client = new ExecClient(link);
		await client.handshake();
		await client.start("p", sh("rm -rf x"));
	},
	"Codex app-server": async (by) => {
		const link = await linkTo("/codex/app-server", by);
		const client = await new AppClient(link).initialize({ experimentalApi: true });
		await client.sh("rm -rf x");
	},
};
