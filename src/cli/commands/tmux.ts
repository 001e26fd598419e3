/** `hawser tmux`: runs tmux commands on sessions, for scripts and harnesses that need tmux. */

import { createHash } from "node:crypto";
import { join } from "node:path";
import { Command } from "commander";
import { stateDirectory } from "../../client/node/locate.ts";
import { type WorkspaceFlags, withWorkspace } from "../connect/find-server.ts";
import { print } from "../print/output.ts";
import { runCommand } from "../tmux/commands.ts";
import { lastOf, parseFlags, splitCommands } from "../tmux/flags.ts";
import { SOCKET, TmuxSessions } from "../tmux/targets.ts";
import { attach } from "./attach.ts";

/** Programs compare the version to decide which commands they can use. */
const VERSION = "tmux 3.4-hawser";
/** tmux's own flags. Those about its configuration, terminal and log are ignored. */
const OWN_FLAGS = "2c:CDdf:L:lNqS:T:uUvV";
/** Hash characters: enough to tell sockets apart in a path that must be short. */
const DIGEST_CHARACTERS = 8;

export const tmux: Command = withWorkspace(
	new Command("tmux"),
	"only sessions in this workspace (default: all; new sessions go to default)",
)
	.summary("run tmux commands on sessions")
	.description(
		"Implements the tmux commands that scripts and benchmark harnesses use: new-session, send-keys, " +
			"capture-pane, wait-for, pipe-pane, load-buffer and paste-buffer, kill-session, list-sessions, " +
			"has-session, display-message and others. A session has one window with one pane. Each is also a " +
			"Hawser session: hawser attach, logs and ls work on it, and it outlives the server.\n\nA symlink named " +
			"tmux that points to hawser does the same, for programs that always run tmux.",
	)
	.argument("[words...]", "tmux flags, a command and its arguments; \\; separates commands")
	.helpOption("--help", "display help for command")
	.allowUnknownOption()
	.passThroughOptions()
	.addHelpText(
		"after",
		"\nExamples:\n  hawser tmux new-session -d -s build -x 160 -y 40\n  hawser tmux send-keys -t build 'make; hawser tmux wait-for -S done' Enter\n" +
			"  hawser tmux wait-for done\n  hawser tmux capture-pane -p -S - -t build\n" +
			'  ln -s "$(command -v hawser)" /usr/local/bin/tmux   # before the real one in PATH',
	)
	.action(async (words: string[], flags: WorkspaceFlags) => {
		const { flags: own, rest } = parseFlags(words, OWN_FLAGS, "tmux");
		if (own.has("V")) return print(`${VERSION}\n`);
		const socket = lastOf(own, "S") ?? lastOf(own, "L") ?? (process.env[SOCKET] || "default");
		const stateDir = stateDirectory(flags);
		const folder = join(
			stateDir,
			"tmux",
			createHash("sha256").update(socket).digest("hex").slice(0, DIGEST_CHARACTERS),
		);
		const around = {
			sessions: new TmuxSessions(flags, socket),
			stateDir,
			folder,
			attach: async (id: string) => void (await attach.parseAsync([id, ...serverFlags(flags)], { from: "user" })),
		};
		const commands = splitCommands(rest);
		for (const command of commands.length > 0 ? commands : [["new-session"]]) await runCommand(command, around);
	});

/** The flags that select a server, for another command. */
function serverFlags({ url, on, token, stateDir, workspace }: WorkspaceFlags): string[] {
	const named = { url, on, token, "state-dir": stateDir, workspace };
	return Object.entries(named).flatMap(([name, value]) => (value === undefined ? [] : [`--${name}`, value]));
}
