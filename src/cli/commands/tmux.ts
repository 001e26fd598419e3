/** `hawser tmux`: the commands of tmux on our sessions, for scripts and harnesses that know no other terminal. */

import { createHash } from "node:crypto";
import { join } from "node:path";
import { Command } from "commander";
import { stateFolder } from "../../local/locate.ts";
import { type WorkspaceFlags, withWorkspace } from "../find-server.ts";
import { print } from "../output.ts";
import { lastOf, parseFlags, splitCommands } from "../tmux/arguments.ts";
import { runCommand } from "../tmux/commands.ts";
import { SOCKET, TmuxSessions } from "../tmux/sessions.ts";
import { attach } from "./attach.ts";

/** What those who ask for tmux's version want to know is which commands they can use. */
const VERSION = "tmux 3.4-hawser";
/** tmux's own flags: of what concerns its configuration, its terminal and its log nothing is here. */
const OWN_FLAGS = "2c:CDdf:L:lNqS:T:uUvV";
/** Of a digest: enough to keep sockets apart in a path that must be short. */
const DIGEST_CHARACTERS = 8;

export const tmux: Command = withWorkspace(
	new Command("tmux"),
	"whose sessions these are (default: all; new ones in default)",
)
	.summary("tmux's commands on sessions, for harnesses")
	.description(
		"Understands the commands of tmux that scripts and benchmark harnesses use: new-session, send-keys, capture-pane, " +
			"wait-for, pipe-pane, load-buffer and paste-buffer, kill-session, list-sessions, has-session, display-message and " +
			"some more. A session has one window with one pane. Each is a session of ours, too: hawser attach, logs and ls " +
			"show it, and it outlives the server.\n\n" +
			"A link to hawser with the name tmux does the same, for what can't be told another name.",
	)
	.argument("[words...]", "tmux's flags, a command and its arguments; \\; begins another")
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
		const stateDir = stateFolder(flags);
		const folder = join(
			stateDir,
			"tmux",
			createHash("sha256").update(socket).digest("hex").slice(0, DIGEST_CHARACTERS),
		);
		const around = {
			sessions: new TmuxSessions(flags, socket),
			stateDir,
			folder,
			attach: async (id: string) => void (await attach.parseAsync([id, ...given(flags)], { from: "user" })),
		};
		const commands = splitCommands(rest);
		for (const command of commands.length > 0 ? commands : [["new-session"]]) await runCommand(command, around);
	});

/** The flags that say where the server is, for another command. */
function given({ url, on, token, stateDir, workspace }: WorkspaceFlags): string[] {
	const named = { url, on, token, "state-dir": stateDir, workspace };
	return Object.entries(named).flatMap(([name, value]) => (value === undefined ? [] : [`--${name}`, value]));
}
