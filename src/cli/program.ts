/** All commands of `hawser`, and what becomes of the one that was typed. */

import { basename } from "node:path";
import { Command } from "commander";
import { version } from "../server/version.ts";
import { acp } from "./commands/acp.ts";
import { agentGuide } from "./commands/agent-guide.ts";
import { appServer } from "./commands/app-server.ts";
import { approve } from "./commands/approve.ts";
import { attach } from "./commands/attach.ts";
import { audit } from "./commands/audit.ts";
import { commands as shellCommands } from "./commands/commands.ts";
import { completion } from "./commands/completion.ts";
import { detach } from "./commands/detach.ts";
import { doctor } from "./commands/doctor.ts";
import { events } from "./commands/events.ts";
import { exec } from "./commands/exec.ts";
import { execServer } from "./commands/exec-server.ts";
import { execd, withGoFlags } from "./commands/execd.ts";
import { exportRecording } from "./commands/export.ts";
import { grep } from "./commands/grep.ts";
import { importRecording } from "./commands/import.ts";
import { kill } from "./commands/kill.ts";
import { list } from "./commands/list.ts";
import { login, logout, remotes } from "./commands/login.ts";
import { logs } from "./commands/logs.ts";
import { mcp } from "./commands/mcp.ts";
import { remove } from "./commands/remove.ts";
import { rename } from "./commands/rename.ts";
import { resize } from "./commands/resize.ts";
import { run } from "./commands/run.ts";
import { screen } from "./commands/screen.ts";
import { secret } from "./commands/secret.ts";
import { send } from "./commands/send.ts";
import { serve } from "./commands/serve.ts";
import { service } from "./commands/service.ts";
import { show } from "./commands/show.ts";
import { signal } from "./commands/signal.ts";
import { signInLink } from "./commands/signin-link.ts";
import { stop } from "./commands/stop.ts";
import { task } from "./commands/task.ts";
import { tmux } from "./commands/tmux.ts";
import { token } from "./commands/token.ts";
import { wait } from "./commands/wait.ts";
import { watch } from "./commands/watch.ts";
import { webhook } from "./commands/webhook.ts";
import { why } from "./commands/why.ts";
import { workspace } from "./commands/workspace.ts";
import { explain } from "./errors.ts";
import { endOnClosedPipe, remark } from "./output.ts";
import { refusedLine } from "./refused-line.ts";

const program = new Command("hawser")
	.description("Interactive processes: start a shell or a command, leave, come back from anywhere, miss nothing.")
	.version(version)
	.enablePositionalOptions()
	.addHelpText(
		"after",
		"\nExamples:\n  hawser run -- bash\n  hawser run --detach --name build -- make\n  hawser attach build\n  hawser logs -f build\n\n" +
			"A session is named by its id, its name, or the beginning of either.",
	);
const commands = [
	serve,
	stop,
	service,
	run,
	attach,
	detach,
	list,
	watch,
	show,
	screen,
	why,
	logs,
	events,
	grep,
	exportRecording,
	importRecording,
	exec,
	shellCommands,
	send,
	secret,
	approve,
	wait,
	rename,
	resize,
	signal,
	kill,
	remove,
	login,
	logout,
	remotes,
	token,
	signInLink,
	workspace,
	task,
	webhook,
	audit,
	doctor,
	completion,
	mcp,
	acp,
	tmux,
	agentGuide,
	execd,
	execServer,
	appServer,
];
for (const command of commands) program.addCommand(command);
sayInOneLine(program, program.name());

/** Commands that are added this way inherit nothing, so each is told. */
function sayInOneLine(command: Command, typed: string): void {
	command.configureOutput({ outputError: (text) => remark(refusedLine(text, typed)) });
	for (const part of command.commands) sayInOneLine(part, `${typed} ${part.name()}`);
}

/** By a link with that name it is tmux that was called. */
function withTmux([node = "", script = "", ...args]: readonly string[]): string[] {
	return [node, script, ...(basename(script) === "tmux" ? ["tmux"] : []), ...args];
}

endOnClosedPipe();
try {
	await program.parseAsync(withGoFlags(withTmux(process.argv)));
} catch (error) {
	const explained = explain(error);
	// A bug of ours is the one thing that deserves its stack.
	if (!explained) throw error;
	remark(explained.sentence);
	process.exitCode = explained.exitCode;
}
