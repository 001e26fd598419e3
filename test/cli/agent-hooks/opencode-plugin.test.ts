/** Our plugin for opencode, in a process of its own. */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { expect, onTestFinished, test } from "vitest";
import { hookedAgent } from "../../../src/cli/agent-hooks/agents.ts";
import { temporaryDirectory } from "../../support/temporary.ts";

/** Gives the plugin all events at once. */
const HOST = `
const { HawserPlugin } = await import(process.argv[1]);
const { event } = await HawserPlugin({});
for (const one of JSON.parse(process.argv[2])) await event?.({ event: one });
`;

async function runPlugin(events: readonly unknown[], socket?: string) {
	const args = ["--input-type=module", "--eval", HOST, hookedAgent("opencode").source, JSON.stringify(events)];
	const env = socket === undefined ? {} : { HAWSER_AGENT_SOCKET: socket };
	const child = spawn(process.execPath, args, { env, stdio: ["ignore", "pipe", "pipe"] });
	const exit = once(child, "exit");
	const output = (await text(child.stdout)) + (await text(child.stderr));
	return { code: (await exit)[0] as number, output };
}

async function listening(): Promise<{ readonly socket: string; readonly lines: { params: { event: string } }[] }> {
	const socket = join(await temporaryDirectory(), "hooks.sock");
	const lines: { params: { event: string } }[] = [];
	const server = createServer((connection) =>
		connection.on("data", (chunk: Buffer) => {
			lines.push(JSON.parse(chunk.toString()) as { params: { event: string } });
			connection.end("{}\n");
		}),
	);
	server.listen(socket);
	await once(server, "listening");
	onTestFinished(() => void server.close());
	return { socket, lines };
}

test("the plugin reports events about the state in their order, and of subagents only questions", async () => {
	const { socket, lines } = await listening();
	const properties = { sessionID: "root" };
	const events = [
		{ type: "session.status", properties: { ...properties, status: { type: "busy" } } },
		{ type: "message.part.updated", properties },
		{ type: "session.created", properties: { sessionID: "sub", info: { id: "sub", parentID: "root" } } },
		{ type: "session.status", properties: { sessionID: "sub", status: { type: "busy" } } },
		{ type: "permission.asked", properties: { sessionID: "sub", permission: "bash", patterns: ["ls"] } },
		{ type: "session.idle", properties: { sessionID: "sub" } },
		{ type: "session.idle", properties },
	];
	expect(await runPlugin(events, socket)).toEqual({ code: 0, output: "" });
	expect(lines.map(({ params }) => params.event)).toEqual([
		"sessionStart",
		"session.status",
		"permission.asked",
		"session.idle",
	]);
	expect(lines[2]).toMatchObject({
		method: "agent.hook",
		params: { payload: { permission: "bash", patterns: ["ls"] } },
	});
});

test("outside of a session, without a server, and with odd events, the plugin does nothing", async () => {
	const events = [{ type: "session.idle" }, {}, null, { type: 7, properties: null }];
	expect(await runPlugin([])).toEqual({ code: 0, output: "" });
	expect(await runPlugin(events, "/nowhere/hooks.sock")).toEqual({ code: 0, output: "" });
});
