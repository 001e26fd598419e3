/** `hawser acp`: runs an ACP agent for an editor, with persistent terminals. */

import { type ChildProcessByStdio, spawn } from "node:child_process";
import { once } from "node:events";
import { constants } from "node:os";
import type { Readable, Writable } from "node:stream";
import { Command } from "commander";
import { AcpProxy } from "../agents/acp-proxy.ts";
import { AcpTerminals } from "../agents/acp-terminals.ts";
import { findOrStartServer, type WorkspaceFlags, withWorkspace } from "../connect/find-server.ts";
import { print } from "../print/output.ts";

/** Signals that an editor may send to its child. */
const SIGNALS: readonly NodeJS.Signals[] = ["SIGINT", "SIGTERM", "SIGHUP"];

export const acp: Command = withWorkspace(new Command("acp"), "workspace for the terminals (default: default)")
	.summary("run an ACP agent with persistent terminals")
	.description(
		"Runs an agent that speaks the Agent Client Protocol (version 1) behind the editor that started this " +
			"command. The agent's terminals become Hawser sessions: attach to them with hawser attach, read them " +
			"later with hawser logs. They outlive the editor, the agent and the server. All other messages pass " +
			"through unchanged. Starts a server in the background if none is running. Exits with the agent's exit " +
			"code.",
	)
	.argument("<agent...>", "agent command and arguments")
	.passThroughOptions()
	.addHelpText(
		"after",
		"\nExamples:\n  hawser acp -- gemini --experimental-acp\n  hawser acp --workspace web -- npx @zed-industries/claude-code-acp",
	)
	.action(async ([program = "", ...args]: string[], flags: WorkspaceFlags) => {
		await findOrStartServer(flags);
		const child = spawn(program, args, { stdio: ["pipe", "pipe", "inherit"] });
		await once(child, "spawn");
		for (const signal of SIGNALS) process.on(signal, () => child.kill(signal));
		const exited = once(child, "exit") as Promise<[number | null, NodeJS.Signals | null]>;
		await proxyUntilExit(child, new AcpTerminals(() => findOrStartServer(flags), flags.workspace));
		const [code, signal] = await exited;
		// The editor may still be running, with no agent to talk to.
		process.stdin.destroy();
		process.exitCode = signal === null ? (code ?? 1) : 128 + constants.signals[signal];
	});

/** Resolves when the agent's output ends. Also forwards the end of the editor's output. */
async function proxyUntilExit(
	child: ChildProcessByStdio<Writable, Readable, null>,
	terminals: AcpTerminals,
): Promise<void> {
	const editor = { input: process.stdin, write: print };
	const agent = { input: child.stdout, write: (line: Uint8Array | string) => written(child.stdin, line) };
	const proxy = new AcpProxy(editor, agent, terminals);
	// Writing to an agent that has exited fails; the editor notices the exit.
	child.stdin.on("error", () => {});
	void proxy.passToAgent().then(
		() => child.stdin.end(),
		() => child.stdin.end(),
	);
	await proxy.passToEditor();
}

/** Resolves when the line is written, or the stream is closed. */
function written(stream: Writable, line: Uint8Array | string): Promise<void> {
	return new Promise((resolve) => {
		stream.write(line, () => resolve());
	});
}
