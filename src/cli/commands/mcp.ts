/** `hawser mcp`: serves terminal tools to an agent over the Model Context Protocol. */

import { randomBytes } from "node:crypto";
import { Command } from "commander";
import { bridge } from "../agents/mcp-bridge.ts";
import { callerEnvironment } from "../connect/caller-environment.ts";
import { findOrStartServer, locate, type WorkspaceFlags, withWorkspace } from "../connect/find-server.ts";
import { print } from "../print/output.ts";

type McpFlags = WorkspaceFlags & { readonly shell?: string };

export const mcp: Command = withWorkspace(
	new Command("mcp"),
	"only sessions in this workspace (default: all; new sessions go to default)",
)
	.summary("serve terminal tools to an AI agent over MCP")
	.description(
		"Speaks the Model Context Protocol on stdin and stdout, for an agent that starts this command. Starts " +
			"a server in the background if none is running. Programs belong to the server: they keep running when " +
			"this command or the agent ends. With a local server, they get your environment and directory.",
	)
	.option("--shell <name>", "session for the agent's commands (default: a new one)")
	.addHelpText(
		"after",
		"\nExamples:\n  claude mcp add hawser -- hawser mcp\n  codex mcp add hawser -- hawser mcp --shell review",
	)
	.action(async (flags: McpFlags) => {
		const { isLocal } = await findOrStartServer(flags);
		await bridge({
			input: process.stdin,
			write: print,
			locate: () => locateOrStart(flags),
			workspace: flags.workspace,
			callerContext: {
				shell: flags.shell ?? `agent-${randomBytes(2).toString("hex")}`,
				...(isLocal ? { cwd: process.cwd(), env: environment() } : {}),
			},
		});
	});

/** Restarts a server that was stopped or crashed; it finds its sessions. */
async function locateOrStart(flags: McpFlags): ReturnType<typeof locate> {
	await findOrStartServer(flags);
	return locate(flags);
}

function environment(): Record<string, string> {
	return callerEnvironment(process.env, { hasTerminal: true, changesDirectory: false, isConfined: false });
}
