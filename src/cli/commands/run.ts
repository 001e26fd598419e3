/** `hawser run`: starts a program in a session, and stays with it to its end unless told to leave. */

import { resolve } from "node:path";
import { Command, Option } from "commander";
import type { SandboxMessage, Session, SizePolicy } from "../../client/index.ts";
import { attachPipes } from "../attach-pipes.ts";
import { attachTerminal } from "../attach-terminal.ts";
import { type Ending, exitCodeOf, sentenceOf } from "../ending.ts";
import { endNotAttached, orNotAttached, UsageError } from "../errors.ts";
import { type Escape, escapeOption } from "../escape-keys.ts";
import { findOrStartServer, type WorkspaceFlags, withWorkspace } from "../find-server.ts";
import { LocalTerminal, type Size } from "../local-terminal.ts";
import { print, printError, remark } from "../output.ts";
import { ownEnvironment } from "../own-environment.ts";
import { bytes, collect, duration, pairs, patience, size, sizePolicyOption, variables } from "../parse.ts";
import { safeJson, safeLine } from "../safe-text.ts";
import { type SandboxName, sandboxNames, sandboxTypes } from "../sandbox-names.ts";
import { callSession } from "../wording.ts";

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
	readonly escape: Escape;
	readonly patience: number;
};

export const run: Command = withWorkspace(new Command("run"), "whose session it is (default: default)")
	.summary("run a program in a session")
	.description(
		"Starts a program in a session and stays with it until it ends; with no server running, starts one in the " +
			"background first. The exit code is the program's own (128+n for a signal), 0 after leaving, 254 when the " +
			"session or the way to it was lost, 255 when it could not be started.\n\n" +
			"In a terminal the program gets one, and every key goes to it, Ctrl-C too; leave with ~. at the start of a " +
			"line or Ctrl-] d. When stdin or stdout is not a terminal the program gets pipes: stdin goes to it, its stdout " +
			"and stderr come out apart, and INT, TERM, HUP and QUIT are handed on. --tty and --pipe decide otherwise, and " +
			"with --detach it is a terminal unless --pipe is given.\n\n" +
			"From a server on this machine it gets your environment and directory, as from a shell, but for HAWSER_TOKEN, and " +
			"in a sandbox for the sockets of your agents; from any other, nothing of yours but what --env names.",
	)
	.argument("[command...]", "the program and its arguments (default: your shell)")
	.option("-d, --detach", "print the session's id and leave")
	.option("--json", "print as JSON how it ended, as the last line on stderr; with --detach, all about the session")
	.option("-n, --name <name>", "a name for the session")
	.option("-C, --cwd <dir>", "where to start (default: here, or where the task is done)")
	.option("--task <id>", "what it is for: a task of the workspace, with its directory and variables")
	.option("-e, --env <K=V>", "a variable for the program, or K alone for its value here; repeatable", collect)
	.option("--clean-env", "without your own variables, with a few of the server's instead")
	.option("-l, --label <K=V>", "a label for the session, to find it by; repeatable", collect)
	.option("--size <size>", "columns and rows of its terminal, such as 120x40 (default: those of yours)", size)
	.addOption(sizePolicyOption())
	.option("-t, --tty", "in a terminal, even if we have none")
	.option("--pipe", "on pipes instead of a terminal")
	.option("--rm", "forget the session once the program has ended")
	.option("--timeout <duration>", "end the program after this long, such as 10m", duration)
	.option("--idle-timeout <duration>", "end the program after this long without output and input", duration)
	.option("--idle-exempt-jobs", "with --idle-timeout, but not while a shell's job is in the foreground")
	.option(
		"--journal <size>",
		"how much of its output is kept on disk, such as 16MiB (default: as the server says)",
		bytes,
	)
	.option("--no-durable", "in the server itself: it ends with the server, and nothing of it is on disk")
	.option("--no-shell-hooks", "leave bash, zsh or fish as it is, without marks of its prompts and commands")
	.addOption(
		new Option("--sandbox <policy>", "what the program may write: nothing, its directory, everything").choices(
			sandboxNames,
		),
	)
	.option(
		"--sandbox-root <dir>",
		"with workspace-write, a directory that may be written to as well; repeatable",
		collect,
	)
	.option("--network", "in a sandbox, with network")
	.addOption(escapeOption())
	.addOption(patience())
	.passThroughOptions()
	.exitOverride(endNotAttached)
	.addHelpText(
		"after",
		"\nExamples:\n  hawser run\n  hawser run -- vim notes.txt\n  hawser run --detach --name build -- make -j8\n" +
			"  hawser run --sandbox workspace-write -- npm test\n" +
			"  hawser run --detach --idle-timeout 30m --idle-exempt-jobs -- bash\n" +
			"  hawser run --detach --label kind=ci --size 200x50 --json -- make\n" +
			"  hawser run --timeout 10m -- ./import.sh < data.csv > report.txt\n  hawser run --tty -- ls --color=auto | cat",
	)
	.action((argv: string[], flags: RunFlags) => orNotAttached(() => start(argv, flags)));

async function start(argv: string[], flags: RunFlags): Promise<void> {
	if (flags.tty && flags.pipe) throw new UsageError("--tty and --pipe exclude each other");
	if (flags.detach && flags.rm) throw new UsageError("--detach and --rm exclude each other");
	if (flags.idleExemptJobs && !flags.idleTimeout) throw new UsageError("--idle-exempt-jobs is for --idle-timeout");
	const sandbox = sandboxOf(flags);
	const env = variables(flags.env ?? [], process.env);
	const { client, isLocal } = await findOrStartServer(flags);
	const labels = pairs(flags.label ?? [], "--label");
	const ownSize =
		process.stdout.columns && process.stdout.rows ? { cols: process.stdout.columns, rows: process.stdout.rows } : {};
	const hasTerminal = flags.tty || (!flags.pipe && (flags.detach || LocalTerminal.isThere)) || false;
	const cwd = flags.cwd ?? (isLocal && flags.task === undefined ? process.cwd() : undefined);
	const isConfined = sandbox !== undefined && sandbox.type !== "dangerFullAccess";
	const session = await client.sessions.create({
		...program(argv, isLocal),
		mode: hasTerminal ? "pty" : "pipe",
		env,
		...(isLocal && !flags.cleanEnv
			? { baseEnv: ownEnvironment(process.env, { hasTerminal, isElsewhere: cwd !== process.cwd(), isConfined }) }
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
		...(hasTerminal && !flags.detach && LocalTerminal.isThere ? { awaitsTerminal: true } : {}),
		...(flags.shellHooks ? {} : { shellHooks: false }),
		...(flags.size ?? ownSize),
		...(flags.detach ? {} : { holdOutput: true }),
		...(flags.sizePolicy === undefined ? {} : { sizePolicy: flags.sizePolicy }),
		labels,
		...(sandbox === undefined ? {} : { sandbox }),
	});
	if (flags.name !== undefined) callSession(session.id, flags.name);
	if (flags.detach) return print(`${flags.json ? safeJson(await session.info()) : safeLine(session.id)}\n`);
	const ending = await stay(session, hasTerminal, flags);
	const sentence = sentenceOf(ending, flags.name ?? session.id);
	if (hasTerminal && (ending.kind === "left" || flags.json)) process.stderr.write("\n");
	// The program's own output has stdout for itself.
	if (flags.json) await printError(`${safeJson({ id: session.id, ...ending }, 0)}\n`);
	else if (sentence !== undefined) remark(sentence);
	process.exitCode = exitCodeOf(ending);
	if (flags.rm && ending.kind === "exited") await session.remove();
}

/** Without one it is a shell: ours, or on another machine that of the server's user. */
function program(argv: string[], isLocal: boolean): { argv: string[] } | { command: string } {
	if (argv.length > 0) return { argv };
	return isLocal
		? { argv: [process.env.SHELL || "/bin/sh"] }
		: { command: '[ -z "$SHELL" ] || exec "$SHELL"; exec /bin/sh' };
}

function sandboxOf({ sandbox, sandboxRoot = [], network, cwd }: RunFlags): SandboxMessage | undefined {
	if (sandboxRoot.length > 0 && sandbox !== "workspace-write")
		throw new UsageError("--sandbox-root is for --sandbox workspace-write");
	if (network && (sandbox === undefined || sandbox === "danger-full-access"))
		throw new UsageError("--network is for a --sandbox that has none otherwise");
	if (sandbox === undefined) return undefined;
	const type = sandboxTypes[sandbox];
	if (type === "dangerFullAccess") return { type };
	const networkAccess = network === true;
	if (type === "readOnly" || sandboxRoot.length === 0) return { type, networkAccess };
	const roots = [cwd ?? ".", ...sandboxRoot].map((root) => resolve(root));
	return { type, networkAccess, writableRoots: roots };
}

function stay(
	session: Session,
	hasTerminal: boolean,
	{ patience: patienceMs, escape: escapes }: RunFlags,
): Promise<Ending> {
	if (!hasTerminal || !LocalTerminal.isThere) {
		return attachPipes(session, { patienceMs, hasTerminal });
	}
	return attachTerminal(session, {
		since: 0,
		isFromScreen: false,
		isCut: false,
		liveFrom: 0,
		isViewer: false,
		take: false,
		hasTerminal,
		escapes,
		patienceMs,
	});
}
