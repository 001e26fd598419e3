/** `hawser exec-server`: stands in for the server of this name that Codex brings along. */

import { Command, InvalidArgumentError } from "commander";
import { isLoopback } from "../../server/config.ts";
import { UsageError } from "../errors.ts";
import { describe, interruption, serveUntilInterrupted } from "../foreground.ts";
import { parseWebSocketUrl, type WebSocketAddress } from "../listen-url.ts";
import { print, remark } from "../output.ts";
import { addWebSocketAuthOptions, secretFilesOf, type WebSocketAuthFlags, webSocketAuthOf } from "../websocket-auth.ts";

const DEFAULT_LISTEN = "ws://127.0.0.1:0";

type Flags = WebSocketAuthFlags & { readonly listen: string; readonly concurrentRequests: number };

export const execServer: Command = addWebSocketAuthOptions(new Command("exec-server"))
	.summary("stand in for Codex exec-server")
	.description(
		"Serves the protocol of Codex exec-server, at one address or to one client on stdin and stdout.\n" +
			"It prints its address on stdout once it answers. Nothing is kept on disk, and its processes end with it.\n" +
			"Whoever reaches the address can run programs, unless --ws-auth asks for a token.",
	)
	.option("--listen <url>", "ws://IP:PORT, where port 0 picks a free one, or stdio", DEFAULT_LISTEN)
	.option(
		"--concurrent-requests <count>",
		"requests of one connection that may be under way at once",
		positiveInteger,
		1,
	)
	.addHelpText(
		"after",
		"\nExamples:\n  hawser exec-server\n  hawser exec-server --listen ws://127.0.0.1:8765 --concurrent-requests 32\n" +
			"  hawser exec-server --listen ws://0.0.0.0:8765 --ws-auth capability-token --ws-token-file /run/token\n" +
			"  hawser exec-server --listen stdio",
	)
	.action(async (flags: Flags) => {
		const address = parseListen(flags.listen);
		const auth = await webSocketAuthOf(flags);
		if (address === "stdio" && auth) throw new UsageError("--ws-auth is for ws://, and not for stdio");
		// Loaded only here: the other commands need none of it, and start faster without.
		const { serveExecOnStdio, startExecServer } = await import("../../server/exec-server.ts");
		const report = (problem: unknown, where: string) => remark(`${where}: ${describe(problem)}`);
		const options = { concurrency: flags.concurrentRequests, hidden: secretFilesOf(flags), report };
		if (address === "stdio") {
			// A client that is gone ends the connection, and with it everything that it started; not just us.
			process.stdout.removeAllListeners("error");
			await serveExecOnStdio({ input: process.stdin, output: process.stdout }, options, interruption());
			process.exit(0);
		}
		const server = await startExecServer({ ...address, auth }, options);
		// Whoever reads where we are may end us at once: we listen for that before we say it.
		const over = serveUntilInterrupted(server, "shutting down, and ending every process");
		await print(`${server.url}\n`);
		if (!auth && !isLoopback(address.host)) {
			remark("anybody who reaches this address can run programs and read files: see --ws-auth");
		}
		await over;
	});

function parseListen(url: string): WebSocketAddress | "stdio" {
	if (url === "stdio" || url === "stdio://") return "stdio";
	if (!url.startsWith("ws://")) {
		throw new UsageError(`unsupported --listen URL \`${url}\`; expected \`ws://IP:PORT\` or \`stdio\``);
	}
	return parseWebSocketUrl(url);
}

function positiveInteger(text: string): number {
	if (/^[1-9]\d{0,8}$/.test(text)) return Number(text);
	throw new InvalidArgumentError("expected a whole number from 1 on");
}
