/** Registers the commands of `hawser` and runs the one that was typed. */

import { basename } from "node:path";
import { Command } from "commander";
import { version } from "../server/version.ts";
import { usageMessage } from "./args/usage-message.ts";
import { toUserError } from "./print/errors.ts";
import { endOnClosedPipe, printNotice } from "./print/output.ts";
import { withGoFlags } from "./serve/go-flags.ts";

/** Commands by name, in the order of the help. */
const commands: Readonly<Record<string, () => Promise<Command>>> = {
	serve: async () => (await import("./commands/serve.ts")).serve,
	stop: async () => (await import("./commands/stop.ts")).stop,
	service: async () => (await import("./commands/service.ts")).service,
	run: async () => (await import("./commands/run.ts")).run,
	attach: async () => (await import("./commands/attach.ts")).attach,
	detach: async () => (await import("./commands/detach.ts")).detach,
	ls: async () => (await import("./commands/ls.ts")).list,
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
	answer: async () => (await import("./commands/answer.ts")).answer,
	queue: async () => (await import("./commands/queue.ts")).queue,
	secret: async () => (await import("./commands/secret.ts")).secret,
	approve: async () => (await import("./commands/approve.ts")).approve,
	wait: async () => (await import("./commands/wait.ts")).wait,
	rename: async () => (await import("./commands/rename.ts")).rename,
	resize: async () => (await import("./commands/resize.ts")).resize,
	signal: async () => (await import("./commands/signal.ts")).signal,
	kill: async () => (await import("./commands/kill.ts")).kill,
	rm: async () => (await import("./commands/rm.ts")).remove,
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
	agent: async () => (await import("./commands/agent.ts")).agent,
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
	.description("Persistent terminal sessions: start a program, detach, come back from anywhere, miss nothing.")
	.version(version)
	.enablePositionalOptions()
	.addHelpText(
		"after",
		"\nExamples:\n  hawser run -- bash\n  hawser run --detach --name build -- make\n  hawser attach build\n" +
			"  hawser logs -f build\n\nSESSION is a session ID, a name, or a unique prefix of either.",
	);
for (const command of await Promise.all(neededFor(argv[2]).map((load) => load()))) program.addCommand(command);
sayInOneLine(program, program.name());

/**
 * Loads only the typed command, because loading all takes longer than most of them run. Loads none for the version, and
 * all for help, aliases, mistakes and completion.
 */
function neededFor(typed = ""): (() => Promise<Command>)[] {
	if (typed === "--version" || typed === "-V") return [];
	const load = Object.hasOwn(commands, typed) && typed !== "completion" ? commands[typed] : undefined;
	return load ? [load] : Object.values(commands);
}

/** Commander does not pass this setting on to added commands. */
function sayInOneLine(command: Command, typed: string): void {
	command.configureOutput({ outputError: (text) => printNotice(usageMessage(text, typed)) });
	for (const part of command.commands) sayInOneLine(part, `${typed} ${part.name()}`);
}

/** A symlink named tmux runs `hawser tmux`. */
function withTmux([node = "", script = "", ...args]: readonly string[]): string[] {
	return [node, script, ...(basename(script) === "tmux" ? ["tmux"] : []), ...args];
}

/** Drops a request for help after an unknown command. Commander would print the help of its parent, without an error. */
function withoutHelpOfUnknown(args: readonly string[]): readonly string[] {
	let parent = program;
	for (const [index, typed] of args.entries()) {
		if (index < 2) continue;
		const isGroup = parent.commands.length > 0 && !typed.startsWith("-") && typed !== "help";
		if (!isGroup) return args;
		const part = parent.commands.find((command) => [command.name(), ...command.aliases()].includes(typed));
		if (!part) return ["-h", "--help"].includes(args[index + 1] ?? "") ? args.slice(0, index + 1) : args;
		parent = part;
	}
	return args;
}

endOnClosedPipe();
try {
	await program.parseAsync(withoutHelpOfUnknown(argv));
} catch (error) {
	const explained = toUserError(error);
	// Only an internal error prints a stack trace.
	if (!explained) throw error;
	printNotice(explained.message);
	process.exitCode = explained.exitCode;
}
