/** `hawser acp`: starts an agent for an editor, and gives it terminals that last. */

import { type ChildProcessByStdio, spawn } from "node:child_process";
import { once } from "node:events";
import { constants } from "node:os";
import type { Readable, Writable } from "node:stream";
import { Command } from "commander";
import { AcpProxy } from "../acp-proxy.ts";
import { AcpTerminals } from "../acp-terminals.ts";
import { findOrStartServer, type WorkspaceFlags, withWorkspace } from "../find-server.ts";
import { print } from "../output.ts";

/** What an editor sends to what it started. */
const SIGNALS: readonly NodeJS.Signals[] = ["SIGINT", "SIGTERM", "SIGHUP"];

export const acp: Command = withWorkspace(new Command("acp"), "whose sessions the terminals are (default: default)")
	.summary("an agent for an editor, with terminals that last")
	.description(
		"Starts an agent that speaks the Agent Client Protocol (version 1) and stands between it and the editor that " +
			"started this command: the agent's terminals are sessions here, which can be watched and answered (hawser attach) " +
			"and read later (hawser logs), and which outlive editor, agent and server. Everything else passes as it is. " +
			"With no server running, starts one in the background first. Ends as the agent does.",
	)
	.argument("<agent...>", "the agent and its arguments")
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
		await attend(child, new AcpTerminals(() => findOrStartServer(flags), flags.workspace));
		const [code, signal] = await exited;
		// The editor may still be there, and say something to nobody.
		process.stdin.destroy();
		process.exitCode = signal === null ? (code ?? 1) : 128 + constants.signals[signal];
	});

/** Resolves when the agent says nothing more; the end of what the editor says is passed on, too. */
async function attend(child: ChildProcessByStdio<Writable, Readable, null>, terminals: AcpTerminals): Promise<void> {
	const editor = { input: process.stdin, write: print };
	const agent = { input: child.stdout, write: (line: Uint8Array | string) => written(child.stdin, line) };
	const proxy = new AcpProxy(editor, agent, terminals);
	// What is said to an agent that has gone is lost, as it would be without us.
	child.stdin.on("error", () => {});
	void proxy.passToAgent().then(
		() => child.stdin.end(),
		() => child.stdin.end(),
	);
	await proxy.passToEditor();
}

/** Resolves when it is gone, or nobody takes it. */
function written(stream: Writable, line: Uint8Array | string): Promise<void> {
	return new Promise((resolve) => {
		stream.write(line, () => resolve());
	});
}
