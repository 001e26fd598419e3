/** `hawser app-server`: stands in for the server of this name that Codex brings along, as far as it runs commands. */

import { mkdir } from "node:fs/promises";
import { BlockList, isIPv6 } from "node:net";
import { join, resolve } from "node:path";
import { Command, Option } from "commander";
import type { AppAddress } from "../../server/app-server.ts";
import { codexHome } from "../../server/codex-host.ts";
import { UsageError } from "../errors.ts";
import { describe, interruption, serveUntilInterrupted } from "../foreground.ts";
import { parseWebSocketUrl } from "../listen-url.ts";
import { remark } from "../output.ts";
import { type SandboxName, sandboxNames, sandboxTypes } from "../sandbox-names.ts";
import { addWebSocketAuthOptions, secretFilesOf, type WebSocketAuthFlags, webSocketAuthOf } from "../websocket-auth.ts";

const DEFAULT_LISTEN = "stdio://";

type Flags = WebSocketAuthFlags & {
	readonly listen: string;
	readonly stdio?: true;
	readonly sandbox: SandboxName;
};

export const appServer: Command = addWebSocketAuthOptions(new Command("app-server"))
	.summary("stand in for Codex app-server, as far as it runs commands")
	.description(
		"Serves command/exec and process/* of Codex app-server: to one client on stdin and stdout, or at one address.\n" +
			"An address is printed on stderr once it answers. Nothing is kept on disk, and a command ends with its connection.\n" +
			"Whoever reaches the address can run programs: give it a token, or keep it on this machine.",
	)
	.option(
		"--listen <url>",
		"stdio://, ws://IP:PORT, where port 0 picks a free one, unix:// or unix://PATH",
		DEFAULT_LISTEN,
	)
	.option("--stdio", "the same as --listen stdio://")
	.addOption(
		new Option("--sandbox <mode>", "what a command may do whose client says nothing about it")
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
		// Loaded only here: the other commands need none of it, and start faster without.
		const { serveAppOnStdio, startAppServer } = await import("../../server/app-server.ts");
		const report = (problem: unknown, where: string) => remark(`${where}: ${describe(problem)}`);
		const options = { policy: { type: sandboxTypes[flags.sandbox] }, hidden: secretFilesOf(flags), report };
		const address = await addressOf(flags);
		if (address === "stdio") {
			// A client that is gone ends the connection, and with it everything that it started; not just us.
			process.stdout.removeAllListeners("error");
			await serveAppOnStdio({ input: process.stdin, output: process.stdout }, options, interruption());
			process.exit(0);
		}
		const server = await startAppServer(address, options);
		// Whoever reads where we are may end us at once: we listen for that before we say it.
		const over = serveUntilInterrupted(server, "shutting down, and ending every command");
		remark(`app-server listening on: ${server.url}`);
		await over;
	});

async function addressOf(flags: Flags): Promise<AppAddress | "stdio"> {
	const { listen, stdio } = flags;
	const auth = await webSocketAuthOf(flags);
	const isWebSocket = !stdio && listen.startsWith("ws://");
	if (auth && !isWebSocket) throw new UsageError("--ws-auth is for ws://, and not for stdio or a Unix socket");
	if (stdio || listen === "stdio" || listen === "stdio://") return "stdio";
	if (listen.startsWith("unix://")) return { kind: "unix", path: await socketPath(listen) };
	if (!isWebSocket)
		throw new UsageError(
			`unsupported --listen URL \`${listen}\`; expected \`stdio://\`, \`ws://IP:PORT\`, \`unix://\` or \`unix://PATH\``,
		);
	const { host, port } = parseWebSocketUrl(listen);
	if (!auth && !isLoopback(host))
		throw new UsageError(
			`refusing to listen on ${host} without a token: anybody could run programs; see --ws-auth, or use 127.0.0.1`,
		);
	return { kind: "tcp", host, port, auth };
}

/** A directory that somebody names must be there: only where Codex has its own is it made. */
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
