/** The program that agents run as a hook. It must never disturb them. */

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createServer, type Server, type Socket } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { expect, onTestFinished, test } from "vitest";
import { builtFile } from "../../src/native/addon.ts";
import { temporaryDirectory } from "../support/temporary.ts";

const OUTCOME = { code: 0, signal: null, stdout: "", stderr: "" };

function start(args: readonly string[], socket?: string): ChildProcess {
	const env = socket === undefined ? {} : { HAWSER_AGENT_SOCKET: socket };
	const child = spawn(builtFile("report"), args, { env, stdio: ["pipe", "pipe", "pipe"] });
	child.stdin?.on("error", () => {});
	return child;
}

async function outcome(child: ChildProcess) {
	if (!child.stdout || !child.stderr) throw new Error("no pipes");
	const exit = once(child, "exit");
	const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)]);
	const [code, signal] = (await exit) as [number | null, NodeJS.Signals | null];
	return { code, signal, stdout, stderr };
}

async function run(args: readonly string[], input: string | Buffer, socket?: string) {
	const child = start(args, socket);
	child.stdin?.end(input);
	return outcome(child);
}

/** A server, and the path of its socket. */
async function listening(serve: (connection: Socket) => void): Promise<string> {
	const path = join(await temporaryDirectory(), "hooks.sock");
	const open = new Set<Socket>();
	const server: Server = createServer({ allowHalfOpen: true }, (connection) => {
		open.add(connection);
		connection.on("error", () => {});
		serve(connection);
	});
	server.listen(path);
	await once(server, "listening");
	onTestFinished(() => {
		for (const connection of open) connection.destroy();
		server.close();
	});
	return path;
}

test("it sends its event and its input as one line, and waits for the answer", async () => {
	const lines: string[] = [];
	const socket = await listening((connection) =>
		connection.on("data", (chunk: Buffer) => {
			lines.push(chunk.toString());
			if (lines.join("").endsWith("\n")) connection.end('{"result":{}}\n');
		}),
	);
	expect(await run(["Stop"], '{\n\t"a": "b\\n"\r\n}\n', socket)).toEqual(OUTCOME);
	expect(lines.join("")).toBe('{"method":"agent.hook","params":{"event":"Stop","payload":{ \t"a": "b\\n"  } }}\n');
	lines.length = 0;
	await run(["session.idle"], "", socket);
	expect(lines.join("")).toBe('{"method":"agent.hook","params":{"event":"session.idle","payload":null}}\n');
	lines.length = 0;
	await run(["Stop"], Buffer.alloc(3_000_000, "x"), socket);
	expect(lines.join("")).toContain('"payload":null');
});

test("without a server it takes its input and ends well", async () => {
	expect(await run(["Stop"], Buffer.alloc(3_000_000, "x"))).toEqual(OUTCOME);
	expect(await run(["Stop"], "{}", "/nowhere/hooks.sock")).toEqual(OUTCOME);
	expect(await run(["Stop"], "{}", `/${"x".repeat(300)}`)).toEqual(OUTCOME);
});

test("it ends well when the server does not answer, closes the connection, or reads nothing", async () => {
	expect(await run(["Stop"], "{}", await listening((connection) => connection.resume()))).toEqual(OUTCOME);
	expect(await run(["Stop"], "{}", await listening((connection) => connection.destroy()))).toEqual(OUTCOME);
	const deaf = await listening((connection) => connection.pause());
	expect(await run(["Stop"], Buffer.alloc(1_000_000, "x"), deaf)).toEqual(OUTCOME);
});

test("it ends well when its input never ends, and when it is told to end", async () => {
	const open = start(["Stop"]);
	expect(await outcome(open)).toEqual(OUTCOME);
	const told = start(["Stop"], await listening((connection) => connection.resume()));
	told.kill("SIGTERM");
	const { stdout, stderr } = await outcome(told);
	expect(stdout + stderr).toBe("");
});

test("it sends nothing without the name of an event", async () => {
	let connections = 0;
	const socket = await listening((connection) => {
		connections++;
		connection.destroy();
	});
	for (const args of [[], [""], ['"'], ["a b"], ["x".repeat(65)], ["Stop", "x"]]) {
		expect(await run(args, "{}", socket)).toEqual(OUTCOME);
	}
	expect(connections).toBe(0);
});
