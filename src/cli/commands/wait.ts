/** `hawser wait`: until a program has ended, has gone quiet, or has written something. */

import { Command, InvalidArgumentError } from "commander";
import { Countdown } from "../../client/countdown.ts";
import { follow, HawserError, type Output, type Session } from "../../client/index.ts";
import { Search } from "../../client/search.ts";
import { UsageError } from "../errors.ts";
import { findServer, type WorkspaceFlags, withWorkspace } from "../find-server.ts";
import { findSession } from "../find-session.ts";
import { remark } from "../output.ts";
import { duration, PATIENCE_MS, wholeNumber } from "../parse.ts";

type WaitFlags = WorkspaceFlags & {
	readonly exit?: true;
	readonly idle?: number;
	readonly match?: RegExp;
	readonly since: number;
	readonly timeout?: number;
};

const MET = 0;
const TIMED_OUT = 2;
const GONE = 3;

export const wait: Command = withWorkspace(new Command("wait"))
	.summary("wait for something to happen")
	.description(
		"Waits until a session's program has ended, or has been quiet for a while, or has written what matches a " +
			"regular expression. Ends with 0 when that happened, 2 when the time was up, and 3 when it can't happen any " +
			"more, because the program has ended or the session is gone.",
	)
	.argument("[session]", "its id, its name, or the beginning of either (default: the most recent)")
	.option("--exit", "until the program has ended (the default)")
	.option("--idle <duration>", "until it has written nothing for this long, such as 2s", duration)
	.option("--match <regexp>", "until its text, without colours and cursor movements, matches", expression)
	.option(
		"--since <offset>",
		"with --match, look at output from this byte on; hawser send --offset gives it",
		wholeNumber,
		0,
	)
	.option("--timeout <duration>", "give up after this long, such as 30s", duration)
	.addHelpText(
		"after",
		"\nExamples:\n  hawser wait build && hawser logs build\n  hawser wait web --match 'listening on' --timeout 30s\n" +
			"  at=$(hawser send build make --enter --offset); hawser wait build --since $at --match 'error|done'",
	)
	.action(async (wanted: string | undefined, flags: WaitFlags) => {
		const conditions = [flags.exit, flags.idle, flags.match].filter((each) => each !== undefined);
		if (conditions.length > 1) throw new UsageError("wait for one thing: --exit, --idle or --match");
		const { client } = await findServer(flags);
		const info = await findSession(client, wanted, flags);
		process.exitCode = await waitFor(client.sessions.at(info.id), info.offsets.end, flags);
	});

async function waitFor(session: Session, end: number, flags: WaitFlags): Promise<number> {
	const over = new AbortController();
	let verdict: number | undefined;
	const decide = (code: number) => {
		verdict ??= code;
		over.abort();
	};
	const quiet = new Countdown(flags.idle, () => decide(MET));
	const whole = new Countdown(flags.timeout, () => decide(TIMED_OUT));
	const search = flags.match && new Search(flags.match);
	try {
		quiet.start();
		whole.start();
		const outputs = follow(session, flags.match ? flags.since : end, {
			signal: over.signal,
			patienceMs: PATIENCE_MS,
			// While nobody can tell whether it is quiet, it is not.
			onLost: () => {
				quiet.stop();
				remark("the server is away; waiting for it");
			},
			onFound: () => quiet.start(),
		});
		for await (const output of outputs) {
			quiet.start();
			if (search?.add(output.offset, output.bytes)) return MET;
			if (output.isLast) return atTheEnd(output, flags);
		}
		return verdict ?? GONE;
	} catch (error) {
		if (!(error instanceof HawserError) || error.code !== "session_not_found") throw error;
		remark(`session ${session.id} is gone`);
		return GONE;
	} finally {
		quiet.stop();
		whole.stop();
	}
}

function atTheEnd({ state, exit }: Output, { idle, match }: WaitFlags): number {
	if (state === "lost") remark("the session was lost: what became of its program is not known");
	else if (idle !== undefined || match) remark(`the program has ended (${exit?.signal ?? exit?.code}) before that`);
	return state !== "lost" && idle === undefined && !match ? MET : GONE;
}

function expression(source: string): RegExp {
	try {
		return new RegExp(source, "m");
	} catch (error) {
		throw new InvalidArgumentError(error instanceof Error ? error.message : String(error));
	}
}
