/** `hawser exec-server`: a drop-in for Codex exec-server. */

import { Command, InvalidArgumentError } from "commander";
import { isLoopback } from "../../server/config.ts";
import { UsageError } from "../print/errors.ts";
import { print, printNotice } from "../print/output.ts";
import { errorChain, interruption, serveUntilSignal } from "../serve/foreground.ts";
import { parseWebSocketUrl, type WebSocketAddress } from "../serve/listen-url.ts";
import {
	addWebSocketAuthOptions,
	secretFilesOf,
	type WebSocketAuthFlags,
	webSocketAuthOf,
} from "../serve/websocket-auth.ts";

const DEFAULT_LISTEN = "ws://127.0.0.1:0";

type Flags = WebSocketAuthFlags & { readonly listen: string; readonly concurrentRequests: number };

export const execServer: Command = addWebSocketAuthOptions(new Command("exec-server"))
	.summary("run a drop-in for Codex exec-server")
	.description(
		"Serves the Codex exec-server protocol, on a listening address or to one client on stdin and " +
			"stdout.\nPrints the address to stdout once it accepts connections. Keeps nothing on disk; its " +
			"processes end with it.\nAnyone who can reach the address can run programs, unless --ws-auth requires " +
			"a token.",
	)
	.option("--listen <url>", "ws://IP:PORT (port 0: any free port), or stdio", DEFAULT_LISTEN)
	.option("--concurrent-requests <count>", "concurrent requests per connection", positiveInteger, 1)
	.addHelpText(
		"after",
		"\nExamples:\n  hawser exec-server\n  hawser exec-server --listen ws://127.0.0.1:8765 --concurrent-requests 32\n" +
			"  hawser exec-server --listen ws://0.0.0.0:8765 --ws-auth capability-token --ws-token-file /run/token\n" +
			"  hawser exec-server --listen stdio",
	)
	.action(async (flags: Flags) => {
		const address = parseListen(flags.listen);
		const auth = await webSocketAuthOf(flags);
		if (address === "stdio" && auth) throw new UsageError("--ws-auth works only with ws:// addresses");
		// Imported here so that other commands start faster.
		const { serveExecOnStdio, startExecServer } = await import("../../server/dropins/codex-exec.ts");
		const report = (problem: unknown, where: string) => printNotice(`${where}: ${errorChain(problem)}`);
		const options = { concurrency: flags.concurrentRequests, hidden: secretFilesOf(flags), report };
		if (address === "stdio") {
			// A client that is gone closes its connection and everything it started, not this process.
			process.stdout.removeAllListeners("error");
			await serveExecOnStdio({ input: process.stdin, output: process.stdout }, options, interruption());
			process.exit(0);
		}
		const server = await startExecServer({ ...address, auth }, options);
		// Handle signals before printing the address: its reader may send one at once.
		const over = serveUntilSignal(server, "shutting down and ending all processes");
		await print(`${server.url}\n`);
		if (!auth && !isLoopback(address.host)) {
			printNotice("warning: anyone who can reach this address can run programs and read files; see --ws-auth");
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
	throw new InvalidArgumentError("expected a positive integer");
}
