/** `hawser run`: starts a program in a session and stays attached until it ends. */

import { resolve } from "node:path";
import { Command, Option } from "commander";
import type { SandboxMessage, Session, SizePolicy } from "../../client/index.ts";
import { type AgentName, agentNames } from "../agent-hooks/agents.ts";
import {
	bytes,
	collect,
	duration,
	pairs,
	reconnectTimeoutOption,
	size,
	sizePolicyOption,
	variables,
} from "../args/values.ts";
import { type EscapePrefixes, escapeOption } from "../attach/escape-keys.ts";
import { attachPipes } from "../attach/on-pipes.ts";
import { attachTerminal } from "../attach/on-terminal.ts";
import { exitCodeOf, type Outcome, outcomeMessage } from "../attach/outcome.ts";
import { callerEnvironment } from "../connect/caller-environment.ts";
import { findOrStartServer, type WorkspaceFlags, withWorkspace } from "../connect/find-server.ts";
import { nameSession } from "../print/error-text.ts";
import { exitNotStarted, UsageError, withStartErrors } from "../print/errors.ts";
import { print, printError, printNotice } from "../print/output.ts";
import { safeJson, safeLine } from "../print/safe-text.ts";
import { type SandboxName, sandboxNames, sandboxTypes } from "../sandbox-names.ts";
import { LocalTerminal, type Size } from "../terminal/local-terminal.ts";

type RunFlags = WorkspaceFlags & {
	readonly task?: string;
	readonly name?: string;
	readonly cwd?: string;
	readonly env?: readonly string[];
	readonly cleanEnv?: true;
	readonly pipe?: true;
	readonly tty?: true;
	readonly detach?: true;
	readonly json?: true;
	readonly label?: readonly string[];
	readonly size?: Size;
	readonly sizePolicy?: SizePolicy;
	readonly rm?: true;
	readonly timeout?: number;
	readonly idleTimeout?: number;
	readonly idleExemptJobs?: true;
	readonly journal?: number;
	readonly durable: boolean;
	readonly shellHooks: boolean;
	readonly sandbox?: SandboxName;
	readonly sandboxRoot?: readonly string[];
	readonly network?: true;
	readonly agent?: AgentName;
	readonly escape: EscapePrefixes;
	readonly reconnectTimeout: number;
};

export const run: Command = withWorkspace(new Command("run"), "workspace for the session (default: default)")
	.summary("run a program in a session")
	.description(
		"Starts a program in a session and stays attached until it ends. Starts a server in the background if " +
			"none is running.\n\nIn a terminal, the program gets a terminal and all your keys, including Ctrl-C; " +
			"detach with ~. at the start of a line or Ctrl-] d. If stdin or stdout is not a terminal, the program " +
			"gets pipes: stdin is forwarded, stdout and stderr stay separate, and INT, TERM, HUP and QUIT are " +
			"forwarded. Override with --tty or --pipe; --detach uses a terminal unless --pipe is given.\n\nWith a " +
			"local server, the program gets your environment and directory, except HAWSER_TOKEN and, in a sandbox, " +
			"agent sockets such as SSH_AUTH_SOCK. With any other server, it gets only what --env names.\n\nExit " +
			"code: the program's own (128+n for a signal); 0 after detaching; 254 if the session or the connection " +
			"was lost; 255 if the program could not be started.",
	)
	.argument("[command...]", "program and arguments (default: your shell)")
	.option("-d, --detach", "print the session ID and return")
	.option("--json", "print the result as JSON on the last line of stderr; with --detach, print the session")
	.option("-n, --name <name>", "session name")
	.option("-C, --cwd <dir>", "working directory (default: the current one, or the task's)")
	.option("--task <id>", "task to run for; provides the directory and variables")
	.option("-e, --env <K=V>", "set a variable (K=V), or pass yours (K); repeatable", collect)
	.option("--clean-env", "do not pass your environment; use a few of the server's variables")
	.option("-l, --label <K=V>", "label for the session; repeatable", collect)
	.option("--size <size>", "terminal size, such as 120x40 (default: this terminal's)", size)
	.addOption(sizePolicyOption())
	.option("-t, --tty", "use a terminal, even if this is not one")
	.option("--pipe", "use pipes instead of a terminal")
	.option("--rm", "delete the session when the program ends")
	.option("--timeout <duration>", "kill the program after this long, such as 10m", duration)
	.option("--idle-timeout <duration>", "kill the program after this long without output or input", duration)
	.option("--idle-exempt-jobs", "with --idle-timeout: not while a shell runs a foreground job")
	.option("--journal <size>", "output kept on disk, such as 16MiB (default: the server's setting)", bytes)
	.option("--no-durable", "keep the session in the server process: nothing on disk, ends with the server")
	.option("--no-shell-hooks", "do not add prompt and command marks to bash, zsh or fish")
	.addOption(
		new Option("--sandbox <policy>", "what the program may write: nothing, its directory, or everything").choices(
			sandboxNames,
		),
	)
	.option("--sandbox-root <dir>", "with workspace-write: another writable directory; repeatable", collect)
	.option("--network", "allow network access in the sandbox")
	.addOption(new Option("--agent <name>", "pass hooks to this coding agent, which is the program").choices(agentNames))
	.addOption(escapeOption())
	.addOption(reconnectTimeoutOption())
	.passThroughOptions()
	.exitOverride(exitNotStarted)
	.addHelpText(
		"after",
		"\nExamples:\n  hawser run\n  hawser run -- vim notes.txt\n  hawser run --agent claude -- --continue\n  hawser run --detach --name build -- make -j8\n" +
			"  hawser run --sandbox workspace-write -- npm test\n" +
			"  hawser run --detach --idle-timeout 30m --idle-exempt-jobs -- bash\n" +
			"  hawser run --detach --label kind=ci --size 200x50 --json -- make\n" +
			"  hawser run --timeout 10m -- ./import.sh < data.csv > report.txt\n  hawser run --tty -- ls --color=auto | cat",
	)
	.action((argv: string[], flags: RunFlags) => withStartErrors(() => start(argv, flags)));

async function start(wanted: string[], flags: RunFlags): Promise<void> {
	if (flags.tty && flags.pipe) throw new UsageError("--tty and --pipe cannot be used together");
	if (flags.detach && flags.rm) throw new UsageError("--detach and --rm cannot be used together");
	if (flags.idleExemptJobs && !flags.idleTimeout) throw new UsageError("--idle-exempt-jobs needs --idle-timeout");
	const sandbox = sandboxOf(flags);
	const { client, isLocal } = await findOrStartServer(flags);
	if (flags.agent && !isLocal) throw new UsageError("--agent works with a local server only");
	const launch =
		flags.agent && (await (await import("../agent-hooks/launch.ts")).launchWithHooks(flags.agent, wanted, process.env));
	const argv = launch?.argv ?? wanted;
	const env = { ...launch?.env, ...variables(flags.env ?? [], process.env) };
	const labels = pairs(flags.label ?? [], "--label");
	const ownSize =
		process.stdout.columns && process.stdout.rows ? { cols: process.stdout.columns, rows: process.stdout.rows } : {};
	const hasTerminal = flags.tty || (!flags.pipe && (flags.detach || LocalTerminal.isInteractive)) || false;
	const cwd = flags.cwd ?? (isLocal && flags.task === undefined ? process.cwd() : undefined);
	const isConfined = sandbox !== undefined && sandbox.type !== "dangerFullAccess";
	const session = await client.sessions.create({
		...program(argv, isLocal),
		mode: hasTerminal ? "pty" : "pipe",
		env,
		...(isLocal && !flags.cleanEnv
			? {
					baseEnv: callerEnvironment(process.env, { hasTerminal, changesDirectory: cwd !== process.cwd(), isConfined }),
				}
			: {}),
		...(cwd === undefined ? {} : { cwd }),
		...(flags.name === undefined ? {} : { name: flags.name }),
		...(flags.workspace === undefined ? {} : { workspace: flags.workspace }),
		...(flags.task === undefined ? {} : { task: flags.task }),
		...(flags.timeout === undefined ? {} : { timeoutMs: flags.timeout }),
		...(flags.idleTimeout === undefined ? {} : { idleTimeoutMs: flags.idleTimeout }),
		...(flags.idleExemptJobs ? { idleExemptJobs: true } : {}),
		...(flags.journal === undefined ? {} : { retain: { journalBytes: flags.journal } }),
		...(flags.durable ? {} : { durable: false }),
		...(hasTerminal && !flags.detach && LocalTerminal.isInteractive ? { awaitsTerminal: true } : {}),
		...(flags.shellHooks ? {} : { shellHooks: false }),
		...(flags.size ?? ownSize),
		...(flags.detach ? {} : { holdOutput: true }),
		...(flags.sizePolicy === undefined ? {} : { sizePolicy: flags.sizePolicy }),
		labels,
		...(sandbox === undefined ? {} : { sandbox }),
	});
	if (flags.name !== undefined) nameSession(session.id, flags.name);
	if (flags.detach) return print(`${flags.json ? safeJson(await session.info()) : safeLine(session.id)}\n`);
	const ending = await attachUntilExit(session, hasTerminal, flags);
	const message = outcomeMessage(ending, flags.name ?? session.id);
	if (hasTerminal && (ending.kind === "left" || flags.json)) process.stderr.write("\n");
	// stdout is reserved for the program's output.
	if (flags.json) await printError(`${safeJson({ id: session.id, ...ending }, 0)}\n`);
	else if (message !== undefined) printNotice(message);
	process.exitCode = exitCodeOf(ending);
	if (flags.rm && ending.kind === "exited") await session.remove();
}

/** The default is a shell: the user's, or on another machine that of the server's account. */
function program(argv: readonly string[], isLocal: boolean): { argv: string[] } | { command: string } {
	if (argv.length > 0) return { argv: [...argv] };
	return isLocal
		? { argv: [process.env.SHELL || "/bin/sh"] }
		: { command: '[ -z "$SHELL" ] || exec "$SHELL"; exec /bin/sh' };
}

function sandboxOf({ sandbox, sandboxRoot = [], network, cwd }: RunFlags): SandboxMessage | undefined {
	if (sandboxRoot.length > 0 && sandbox !== "workspace-write")
		throw new UsageError("--sandbox-root needs --sandbox workspace-write");
	if (network && (sandbox === undefined || sandbox === "danger-full-access"))
		throw new UsageError("--network needs --sandbox read-only or workspace-write");
	if (sandbox === undefined) return undefined;
	const type = sandboxTypes[sandbox];
	if (type === "dangerFullAccess") return { type };
	const networkAccess = network === true;
	if (type === "readOnly" || sandboxRoot.length === 0) return { type, networkAccess };
	const roots = [cwd ?? ".", ...sandboxRoot].map((root) => resolve(root));
	return { type, networkAccess, writableRoots: roots };
}

function attachUntilExit(
	session: Session,
	hasTerminal: boolean,
	{ reconnectTimeout: reconnectTimeoutMs, escape: escapes }: RunFlags,
): Promise<Outcome> {
	if (!hasTerminal || !LocalTerminal.isInteractive) {
		return attachPipes(session, { reconnectTimeoutMs, hasTerminal });
	}
	return attachTerminal(session, {
		since: 0,
		isFromScreen: false,
		startsMidLine: false,
		replayEnd: 0,
		isViewer: false,
		take: false,
		hasTerminal,
		escapes,
		reconnectTimeoutMs,
	});
}
