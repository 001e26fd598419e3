/** `hawser run`: starts a program in a session, and follows it to its end unless told to leave. */

import { constants } from "node:os";
import { Command } from "commander";
import { type ExitMessage, follow, type Output, type Session } from "../../client/index.ts";
import { explain, LOST, NOT_ATTACHED, UsageError } from "../errors.ts";
import { findServer, type ServerFlags, withServer } from "../find-server.ts";
import { print, remark } from "../output.ts";
import { collect, duration, variables } from "../parse.ts";

type RunFlags = ServerFlags & {
	readonly name?: string;
	readonly cwd?: string;
	readonly env?: readonly string[];
	readonly pipe?: true;
	readonly detach?: true;
	readonly timeout?: number;
};

/** How long a restarting server may be away while we follow a program. */
const PATIENCE_MS = 60_000;

export const run: Command = withServer(new Command("run"))
	.summary("run a program in a session")
	.description(
		"Starts a program in a session and shows its output until it ends; the exit code is the program's own " +
			"(128+n for a signal, 254 when the session was lost, 255 when it could not be started or followed). " +
			"Ctrl-C goes to the program. Other input is not forwarded yet: use hawser send.",
	)
	.argument("<command...>", "the program and its arguments")
	.option("-d, --detach", "print the session's id and leave")
	.option("-n, --name <name>", "a name for the session")
	.option("-C, --cwd <dir>", "where to start (default: here)")
	.option("-e, --env <K=V>", "a variable for the program, or K alone for its value here; repeatable", collect)
	.option("--pipe", "on pipes instead of a terminal")
	.option("--timeout <duration>", "end the program after this long, such as 10m", duration)
	.passThroughOptions()
	.exitOverride(({ exitCode }) => process.exit(exitCode === 0 ? 0 : NOT_ATTACHED))
	.addHelpText(
		"after",
		"\nExamples:\n  hawser run -- npm test\n  hawser run --detach --name build -- make -j8\n  hawser run --pipe --timeout 10m -- ./import.sh",
	)
	.action(async (argv: string[], flags: RunFlags) => {
		try {
			process.exitCode = await start(argv, flags);
		} catch (error) {
			// An exit code of our own must not be taken for the program's.
			const explained = explain(error);
			throw explained ? new UsageError(explained.sentence, NOT_ATTACHED) : error;
		}
	});

async function start(argv: string[], flags: RunFlags): Promise<number> {
	const { client, isLocal } = await findServer(flags);
	const { columns, rows } = process.stdout;
	const cwd = flags.cwd ?? (isLocal ? process.cwd() : undefined);
	const session = await client.sessions.create({
		argv,
		mode: flags.pipe ? "pipe" : "pty",
		env: variables(flags.env ?? [], process.env),
		...(cwd === undefined ? {} : { cwd }),
		...(flags.name === undefined ? {} : { name: flags.name }),
		...(flags.timeout === undefined ? {} : { timeoutMs: flags.timeout }),
		...(columns && rows ? { cols: columns, rows } : {}),
	});
	if (flags.detach) {
		await print(`${session.id}\n`);
		return 0;
	}
	const release = handOnSignals(session, flags);
	try {
		return await show(session);
	} finally {
		release();
	}
}

async function show(session: Session): Promise<number> {
	let last: Output | undefined;
	const options = {
		patienceMs: PATIENCE_MS,
		onLost: () => remark("the server is away; waiting for it"),
		onFound: () => remark("the server is back"),
	};
	for await (const output of follow(session, 0, options)) {
		if (output.gap) remark(`bytes ${output.gap.from} to ${output.gap.to} are gone (${output.gap.reason})`);
		await print(output.bytes);
		last = output;
	}
	if (last?.exit) return codeOf(last.exit);
	remark(`session ${session.id} was lost: what became of its program is not known`);
	return LOST;
}

function codeOf({ code, signal, reason }: ExitMessage): number {
	if (reason !== undefined) remark(`the program was ended (${reason})`);
	if (code !== null) return code;
	return 128 + (constants.signals[signal as NodeJS.Signals] ?? 0);
}

/** Ctrl-C is for the program; being told to go away is for us, and the program runs on. */
function handOnSignals(session: Session, flags: RunFlags): () => void {
	const interrupt = () => {
		const done = flags.pipe ? session.kill({ signal: "INT" }) : session.write(new Uint8Array([3]));
		done.catch((error: unknown) =>
			remark(`the interrupt did not arrive: ${explain(error)?.sentence ?? String(error)}`),
		);
	};
	const leave = (signal: NodeJS.Signals) => {
		remark(`the program runs on in session ${session.id}`);
		process.exit(128 + constants.signals[signal]);
	};
	process.on("SIGINT", interrupt);
	process.on("SIGTERM", leave);
	process.on("SIGHUP", leave);
	return () => {
		process.off("SIGINT", interrupt);
		process.off("SIGTERM", leave);
		process.off("SIGHUP", leave);
	};
}
