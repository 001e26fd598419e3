/** `hawser send`: sends input to a session. */

import { buffer } from "node:stream/consumers";
import { Command, Option } from "commander";
import { limits } from "../../api/messages.ts";
import { offsetsOf, type Session } from "../../client/index.ts";
import { encodeKey } from "../../words/keys.ts";
import { formatDuration } from "../../words/units.ts";
import { collect, duration } from "../args/values.ts";
import { withApprovalNotice } from "../connect/approval-notice.ts";
import { findServer, type WorkspaceFlags, withWorkspace } from "../connect/find-server.ts";
import { findSession } from "../connect/find-session.ts";
import { noteEcho } from "../connect/last-echo.ts";
import { UsageError } from "../print/errors.ts";
import { print, printNotice } from "../print/output.ts";
import { safeJson, safeText } from "../print/safe-text.ts";

type SendFlags = WorkspaceFlags & {
	readonly key?: readonly string[];
	readonly enter?: true;
	readonly paste?: true;
	readonly submit?: true;
	readonly queue?: true;
	readonly offset?: true;
	readonly wait?: true;
	readonly match?: string;
	readonly regex?: true;
	readonly includeEcho?: true;
	readonly idle?: number;
	readonly stable?: number;
	readonly timeout: number;
	readonly json?: true;
};

/** Without conditions, --wait also stops after this long without output. */
const IDLE_MS = 3_000;
/** As in `hawser wait`. */
const TIMED_OUT = 2;
const GONE = 3;

/**
 * How long keys wait for the program to echo the text. Many programs treat input that arrives at once as a paste, and
 * an Enter in it as a line break.
 */
const REACTION_MS = 250;

export const send: Command = withWorkspace(new Command("send"))
	.summary("send input to a session")
	.description(
		"Sends text exactly as given, then keys in order, once the program has echoed the text or after 250 " +
			"ms. Key names are as in tmux (Enter, Up, C-c, M-x, S-Tab, F5), or ctrl+c, alt+x, shift+tab.",
	)
	.argument("<session>", "session ID, name or prefix")
	.argument("[text]", "text to send; - reads stdin")
	.option("-k, --key <name>", "key to press after the text; repeatable", collect)
	.option("--enter", "press Enter last")
	.option("--paste", "send as a bracketed paste, so that lines do not run one by one")
	.option(
		"--submit",
		"submit the text as a prompt of a coding agent, and check that it was submitted. While the agent works, this may cut its turn short; --queue does not",
	)
	.option("--queue", "with --submit: keep the prompt until a busy or starting agent is idle; see hawser queue")
	.option("--offset", "print the output offset before sending, for wait --since and logs --since")
	.option(
		"-w, --wait",
		"wait until the program reads input, the shell shows its prompt, or output stops for 3s; then print " +
			"the new output. Exits with 2 on timeout, 3 if the program ended",
	)
	.option("--match <text>", "with --wait: until this text appears", String)
	.option("--regex", "treat --match as a JavaScript regular expression, matched per line")
	.option("--include-echo", "with --match: also match in the echo of the input")
	.option("--idle <duration>", "with --wait: until output stops for this long", duration)
	.option("--stable <duration>", "with --wait: until the screen is unchanged for this long", duration)
	.addOption(
		new Option("--timeout <duration>", "with --wait: timeout")
			.argParser(duration)
			.default(limits.runMs, formatDuration(limits.runMs)),
	)
	.option("--json", "with --wait: print the result as JSON")
	.addHelpText(
		"after",
		"\nExamples:\n  hawser send build 'make test' --enter\n  hawser send db 'select 1;' --enter --wait\n  hawser send build --key C-c\n" +
			"  hawser send k3v9 - < script.sql\n  hawser send agent --submit - < prompt.md",
	)
	.action(async (wanted: string, text: string | undefined, flags: SendFlags) => {
		const names = [...(flags.key ?? []), ...(flags.enter ? ["Enter"] : [])];
		const keys = Buffer.concat(names.map(bytesOf));
		if (!flags.wait && (flags.match ?? flags.idle ?? flags.stable ?? flags.json) !== undefined) {
			throw new UsageError("--match, --idle, --stable and --json need --wait");
		}
		if ((flags.regex || flags.includeEcho) && flags.match === undefined) {
			throw new UsageError("--regex and --include-echo need --match");
		}
		if (text === undefined && keys.byteLength === 0) {
			throw new UsageError("nothing to send; pass TEXT, --key or --enter");
		}
		if (flags.queue && !flags.submit) throw new UsageError("--queue is for --submit");
		if (flags.submit) return submit(wanted, text, flags);
		const typed = text === "-" ? await buffer(process.stdin) : Buffer.from(text ?? "");
		const { client } = await findServer(flags);
		const info = await findSession(client, wanted, flags);
		const { id } = info;
		const session = client.sessions.at(id);
		const input = { text: typed.toString(), keys: names, paste: flags.paste === true };
		if (flags.wait) return withApprovalNotice(client, id, sendAndWait(session, input, flags));
		if (flags.paste) {
			// The server knows whether the program enabled bracketed paste.
			const { output } = await withApprovalNotice(client, id, session.send(input, { timeoutMs: 0 }));
			if (flags.offset) await print(`${output.from}\n`);
			return;
		}
		const { end } = offsetsOf(info);
		if (typed.byteLength > 0) await withApprovalNotice(client, id, session.write(typed));
		if (typed.byteLength > 0 && keys.byteLength > 0) await session.output(end, { wait: REACTION_MS, limit: 1 });
		if (keys.byteLength > 0) await withApprovalNotice(client, id, session.write(keys));
		await noteEcho(session, end, Buffer.concat([typed, keys]).toString());
		if (flags.offset) await print(`${end}\n`);
	});

/** Submits a prompt to a coding agent. */
async function submit(wanted: string, text: string | undefined, flags: SendFlags): Promise<void> {
	const { key = [], enter, paste, offset, wait, queue = false } = flags;
	if (key.length > 0 || enter || paste || offset || wait) {
		throw new UsageError("--submit types and submits by itself: no --key, --enter, --paste, --offset or --wait");
	}
	if (text === undefined) throw new UsageError("nothing to submit; pass TEXT");
	const prompt = text === "-" ? (await buffer(process.stdin)).toString() : text;
	const { client } = await findServer(flags);
	const { id } = await findSession(client, wanted, flags);
	const { queued } = await withApprovalNotice(client, id, client.sessions.at(id).prompt(prompt, { whenIdle: queue }));
	if (queued) printNotice(`queued as ${queued.id}; it is submitted when the agent is idle`);
}

async function sendAndWait(
	session: Session,
	input: { readonly text: string; readonly keys: string[]; readonly paste: boolean },
	{ match, regex, includeEcho, idle, stable, timeout, json }: SendFlags,
): Promise<void> {
	const asked = {
		...(match === undefined ? {} : { match: regex ? expressionOf(match) : match }),
		...(includeEcho ? { includeEcho } : {}),
		...(idle === undefined ? {} : { idleMs: idle }),
		...(stable === undefined ? {} : { stableMs: stable }),
	};
	const until = Object.keys(asked).length > 0 ? asked : { input: true, end: true, idleMs: IDLE_MS };
	const answer = await session.send({ ...input, until, limit: limits.maxTextBytes }, { timeoutMs: timeout });
	if (json) await print(`${safeJson(answer)}\n`);
	else if (answer.text !== "") await print(`${safeText(answer.text).trimEnd()}\n`);
	if (answer.cause === "timeout") {
		printNotice(`timed out after ${formatDuration(timeout)}`);
		process.exitCode = TIMED_OUT;
	}
	if (answer.cause === "exit") process.exitCode = GONE;
}

function expressionOf(text: string): RegExp {
	try {
		return new RegExp(text);
	} catch (error) {
		throw new UsageError(error instanceof Error ? error.message : String(error));
	}
}

function bytesOf(name: string): Uint8Array {
	const bytes = encodeKey(name);
	if (bytes) return bytes;
	throw new UsageError(`unknown key ${JSON.stringify(name)}; use names such as Enter, Up, F5, C-c or ctrl+c`);
}
