/** All commands of `hawser`, and what becomes of the one that was typed. */

import { basename } from "node:path";
import { Command } from "commander";
import { version } from "../server/version.ts";
import { explain } from "./errors.ts";
import { withGoFlags } from "./go-flags.ts";
import { endOnClosedPipe, remark } from "./output.ts";
import { refusedLine } from "./refused-line.ts";

/** Each by its name, in the order of the help. */
const commands: Readonly<Record<string, () => Promise<Command>>> = {
	serve: async () => (await import("./commands/serve.ts")).serve,
	stop: async () => (await import("./commands/stop.ts")).stop,
	service: async () => (await import("./commands/service.ts")).service,
	run: async () => (await import("./commands/run.ts")).run,
	attach: async () => (await import("./commands/attach.ts")).attach,
	detach: async () => (await import("./commands/detach.ts")).detach,
	ls: async () => (await import("./commands/list.ts")).list,
	watch: async () => (await import("./commands/watch.ts")).watch,
	show: async () => (await import("./commands/show.ts")).show,
	screen: async () => (await import("./commands/screen.ts")).screen,
	why: async () => (await import("./commands/why.ts")).why,
	logs: async () => (await import("./commands/logs.ts")).logs,
	events: async () => (await import("./commands/events.ts")).events,
	grep: async () => (await import("./commands/grep.ts")).grep,
	export: async () => (await import("./commands/export.ts")).exportRecording,
	import: async () => (await import("./commands/import.ts")).importRecording,
	exec: async () => (await import("./commands/exec.ts")).exec,
	commands: async () => (await import("./commands/commands.ts")).commands,
	send: async () => (await import("./commands/send.ts")).send,
	secret: async () => (await import("./commands/secret.ts")).secret,
	approve: async () => (await import("./commands/approve.ts")).approve,
	wait: async () => (await import("./commands/wait.ts")).wait,
	rename: async () => (await import("./commands/rename.ts")).rename,
	resize: async () => (await import("./commands/resize.ts")).resize,
	signal: async () => (await import("./commands/signal.ts")).signal,
	kill: async () => (await import("./commands/kill.ts")).kill,
	rm: async () => (await import("./commands/remove.ts")).remove,
	login: async () => (await import("./commands/login.ts")).login,
	logout: async () => (await import("./commands/login.ts")).logout,
	remotes: async () => (await import("./commands/login.ts")).remotes,
	token: async () => (await import("./commands/token.ts")).token,
	"signin-link": async () => (await import("./commands/signin-link.ts")).signInLink,
	workspace: async () => (await import("./commands/workspace.ts")).workspace,
	task: async () => (await import("./commands/task.ts")).task,
	webhook: async () => (await import("./commands/webhook.ts")).webhook,
	audit: async () => (await import("./commands/audit.ts")).audit,
	doctor: async () => (await import("./commands/doctor.ts")).doctor,
	completion: async () => (await import("./commands/completion.ts")).completion,
	mcp: async () => (await import("./commands/mcp.ts")).mcp,
	acp: async () => (await import("./commands/acp.ts")).acp,
	tmux: async () => (await import("./commands/tmux.ts")).tmux,
	"agent-guide": async () => (await import("./commands/agent-guide.ts")).agentGuide,
	execd: async () => (await import("./commands/execd.ts")).execd,
	"exec-server": async () => (await import("./commands/exec-server.ts")).execServer,
	"app-server": async () => (await import("./commands/app-server.ts")).appServer,
};

const argv = withGoFlags(withTmux(process.argv));
const program = new Command("hawser")
	.description("Interactive processes: start a shell or a command, leave, come back from anywhere, miss nothing.")
	.version(version)
	.enablePositionalOptions()
	.addHelpText(
		"after",
		"\nExamples:\n  hawser run -- bash\n  hawser run --detach --name build -- make\n  hawser attach build\n  hawser logs -f build\n\n" +
			"A session is named by its id, its name, or the beginning of either.",
	);
for (const command of await Promise.all(neededFor(argv[2]).map((load) => load()))) program.addCommand(command);
sayInOneLine(program, program.name());

/**
 * Only the command that was typed, for loading them all takes longer than most of them run, and none for the version;
 * all of them for help, for an alias or a mistake, and for completion, which tells of them.
 */
function neededFor(typed = ""): (() => Promise<Command>)[] {
	if (typed === "--version" || typed === "-V") return [];
	const load = Object.hasOwn(commands, typed) && typed !== "completion" ? commands[typed] : undefined;
	return load ? [load] : Object.values(commands);
}

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
	await program.parseAsync(argv);
} catch (error) {
	const explained = explain(error);
	// A bug of ours is the one thing that deserves its stack.
	if (!explained) throw error;
	remark(explained.sentence);
	process.exitCode = explained.exitCode;
}
