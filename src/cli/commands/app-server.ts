/** `hawser app-server`: a drop-in for Codex app-server, commands only. */

import { mkdir } from "node:fs/promises";
import { BlockList, isIPv6 } from "node:net";
import { join, resolve } from "node:path";
import { Command, Option } from "commander";
import type { AppAddress } from "../../server/dropins/codex-app.ts";
import { codexHome } from "../../server/dropins/codex-host.ts";
import { UsageError } from "../print/errors.ts";
import { printNotice } from "../print/output.ts";
import { type SandboxName, sandboxNames, sandboxTypes } from "../sandbox-names.ts";
import { errorChain, interruption, serveUntilSignal } from "../serve/foreground.ts";
import { parseWebSocketUrl } from "../serve/listen-url.ts";
import {
	addWebSocketAuthOptions,
	secretFilesOf,
	type WebSocketAuthFlags,
	webSocketAuthOf,
} from "../serve/websocket-auth.ts";

const DEFAULT_LISTEN = "stdio://";

type Flags = WebSocketAuthFlags & {
	readonly listen: string;
	readonly stdio?: true;
	readonly sandbox: SandboxName;
};

export const appServer: Command = addWebSocketAuthOptions(new Command("app-server"))
	.summary("run a drop-in for Codex app-server (commands only)")
	.description(
		"Serves command/exec and process/* of Codex app-server, to one client on stdin and stdout or on a " +
			"listening address.\nPrints the address to stderr once it accepts connections. Keeps nothing on disk; " +
			"a command ends with its connection.\nAnyone who can reach the address can run programs: require a " +
			"token, or listen on loopback only.",
	)
	.option("--listen <url>", "stdio://, ws://IP:PORT (port 0: any free port), unix:// or unix://PATH", DEFAULT_LISTEN)
	.option("--stdio", "same as --listen stdio://")
	.addOption(
		new Option("--sandbox <mode>", "sandbox for commands whose client requests none")
			.choices(sandboxNames)
			.default("read-only"),
	)
	.addHelpText(
		"after",
		"\nExamples:\n  hawser app-server\n  hawser app-server --listen ws://127.0.0.1:4500 --sandbox danger-full-access\n" +
			"  hawser app-server --listen ws://0.0.0.0:4500 --ws-auth capability-token --ws-token-file /run/token\n" +
			"  hawser app-server --listen unix:///run/user/1000/app-server.sock",
	)
	.action(async (flags: Flags) => {
		// Imported here so that other commands start faster.
		const { serveAppOnStdio, startAppServer } = await import("../../server/dropins/codex-app.ts");
		const report = (problem: unknown, where: string) => printNotice(`${where}: ${errorChain(problem)}`);
		const options = { policy: { type: sandboxTypes[flags.sandbox] }, hidden: secretFilesOf(flags), report };
		const address = await addressOf(flags);
		if (address === "stdio") {
			// A client that is gone closes its connection and everything it started, not this process.
			process.stdout.removeAllListeners("error");
			await serveAppOnStdio({ input: process.stdin, output: process.stdout }, options, interruption());
			process.exit(0);
		}
		const server = await startAppServer(address, options);
		// Handle signals before printing the address: its reader may send one at once.
		const over = serveUntilSignal(server, "shutting down and ending all commands");
		printNotice(`app-server listening on: ${server.url}`);
		await over;
	});

async function addressOf(flags: Flags): Promise<AppAddress | "stdio"> {
	const { listen, stdio } = flags;
	const auth = await webSocketAuthOf(flags);
	const isWebSocket = !stdio && listen.startsWith("ws://");
	if (auth && !isWebSocket) throw new UsageError("--ws-auth works only with ws:// addresses");
	if (stdio || listen === "stdio" || listen === "stdio://") return "stdio";
	if (listen.startsWith("unix://")) return { kind: "unix", path: await socketPath(listen) };
	if (!isWebSocket)
		throw new UsageError(
			`unsupported --listen URL \`${listen}\`; expected \`stdio://\`, \`ws://IP:PORT\`, \`unix://\` or \`unix://PATH\``,
		);
	const { host, port } = parseWebSocketUrl(listen);
	if (!auth && !isLoopback(host))
		throw new UsageError(`refusing to listen on ${host} without authentication; use --ws-auth, or listen on 127.0.0.1`);
	return { kind: "tcp", host, port, auth };
}

/** The directory of a given path must exist; only Codex's default directory is created. */
async function socketPath(listen: string): Promise<string> {
	const path = listen.slice("unix://".length);
	if (path !== "") return resolve(path);
	const directory = join(codexHome(), "app-server-control");
	await mkdir(directory, { recursive: true, mode: 0o700 });
	return join(directory, "app-server-control.sock");
}

const loopback = new BlockList();
loopback.addSubnet("127.0.0.0", 8, "ipv4");
loopback.addAddress("::1", "ipv6");

function isLoopback(host: string): boolean {
	return loopback.check(host, isIPv6(host) ? "ipv6" : "ipv4");
}
