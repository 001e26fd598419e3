/** `hawser mcp`: terminals as tools for an agent that starts this command and speaks the Model Context Protocol with it. */

import { randomBytes } from "node:crypto";
import { Command } from "commander";
import { findOrStartServer, locate, type WorkspaceFlags, withWorkspace } from "../find-server.ts";
import { bridge } from "../mcp-bridge.ts";
import { print } from "../output.ts";
import { ownEnvironment } from "../own-environment.ts";

type McpFlags = WorkspaceFlags & { readonly shell?: string };

export const mcp: Command = withWorkspace(
	new Command("mcp"),
	"whose sessions are meant (default: all; names and new ones in default)",
)
	.summary("terminals as tools for an agent, over MCP")
	.description(
		"Speaks the Model Context Protocol on stdin and stdout, for an agent that starts this command; with no server " +
			"running, starts one in the background first. Programs are the server's: they go on when this command, or the " +
			"agent, has gone. From a server on this machine they get your environment and directory.",
	)
	.option("--shell <name>", "the session in which the agent runs commands (default: a new one)")
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
			surroundings: {
				shell: flags.shell ?? `agent-${randomBytes(2).toString("hex")}`,
				...(isLocal ? { cwd: process.cwd(), env: environment() } : {}),
			},
		});
	});

/** A server that was stopped meanwhile, or crashed, is started again: what it kept is all there. */
async function locateOrStart(flags: McpFlags): ReturnType<typeof locate> {
	await findOrStartServer(flags);
	return locate(flags);
}

function environment(): Record<string, string> {
	return ownEnvironment(process.env, { hasTerminal: true, isElsewhere: false, isConfined: false });
}
