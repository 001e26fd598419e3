/** Events on a WebSocket about what the program waits for and what its shell runs. */

import { beforeAll, expect, onTestFinished, test } from "vitest";
import type { ServerMessage } from "../../../src/api/types.ts";
import { connect } from "../../../src/client/index.ts";
import { CrashingServer } from "../../support/crashing-server.ts";
import { startTestServer, type TestServer } from "../../support/native-server.ts";
import { eventually } from "../../support/reading.ts";
import { TestSocket } from "../../support/socket-client.ts";
import { temporaryDirectory } from "../../support/temporary.ts";

let server: TestServer;
beforeAll(async () => {
	server = await startTestServer();
	return () => server.close();
});

function activity(socket: TestSocket): ServerMessage[] {
	return socket.messages.filter(({ type }) => type === "waiting" || type === "ready" || type === "command");
}

/** Warnings of Node in this process, such as listeners that look like a leak. */
function hearWarnings(): readonly Error[] {
	const warnings: Error[] = [];
	const hear = (warning: Error) => void warnings.push(warning);
	process.on("warning", hear);
	onTestFinished(() => void process.off("warning", hear));
	return warnings;
}

test("waiting and ready are sent once each time to subscribers, and a program already waiting is sent first", async () => {
	const warnings = hearWarnings();
	const { id } = await server.create({ argv: ["bash", "--norc"], env: { PS1: "here> " } });
	const other = await TestSocket.open(server.url, id);
	await other.text((text) => text.includes("here> "));
	const socket = await TestSocket.open(server.url, id, { activity: true, stream: "own" });
	await socket.message("ready");
	socket.type(0, "read -p 'name? ' x\r");
	await socket.message("waiting");
	socket.type(19, "me\r");
	await socket.until("the next prompt", () => activity(socket).length === 3);
	expect(activity(socket)).toMatchObject([
		{ type: "ready", prompt: "here>", program: "bash" },
		{ type: "waiting", prompt: "name?", program: "bash", awaited: "line" },
		{ type: "ready", prompt: "here>", program: "bash" },
	]);
	expect(activity(other)).toEqual([]);
	expect(warnings).toEqual([]);
});

test("shell commands are reported at their start and once their end is completely known", async () => {
	const crashing = new CrashingServer(await temporaryDirectory());
	await crashing.start();
	onTestFinished(() => crashing.killAll());
	const client = connect({ url: crashing.url, token: await crashing.token() });
	const home = await temporaryDirectory();
	const session = await client.sessions.create({ argv: ["bash"], cwd: home, env: { HOME: home } });
	await session.exec("true");
	await using attachment = session.attach({ since: "end", activity: true });
	const told: string[] = [];
	const following = (async () => {
		for await (const event of attachment) {
			if (event.kind === "ready") told.push("ready");
			if (event.kind !== "command") continue;
			const { seq, command, exitCode, cwd } = event.command;
			told.push(`${event.phase} ${seq} ${command} ${exitCode} ${cwd === home}`);
		}
	})();
	await eventually("the event that the shell is ready", () => told.length > 0);
	await session.exec("(exit 3)");
	await attachment.write("false\r");
	await eventually("the end of both", () => told.filter((line) => line.startsWith("end")).length === 2);
	await attachment.detach();
	await following;
	expect(told.filter((line) => line !== "ready")).toEqual([
		"begin 2 (exit 3) null false",
		"end 2 (exit 3) 3 true",
		"begin 3 null null false",
		"end 3 false 1 true",
	]);
});

test("a session on pipes has no such events, and its connection continues", async () => {
	const { id } = await server.create({ command: "read line; echo got-$line", mode: "pipe" });
	const socket = await TestSocket.open(server.url, id, { activity: true, stream: "own" });
	socket.type(0, "it\n");
	expect(await socket.closed).toMatchObject({ code: 1000 });
	expect(socket.output.toString()).toBe("got-it\n");
});
