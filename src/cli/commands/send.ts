/** `hawser send`: types into a session. */

import { buffer } from "node:stream/consumers";
import { Command } from "commander";
import type { Session } from "../../client/index.ts";
import { encodeKey } from "../../protocol/keys.ts";
import { limits } from "../../protocol/messages.ts";
import { formatDuration } from "../../protocol/units.ts";
import { UsageError } from "../errors.ts";
import { findServer, type WorkspaceFlags, withWorkspace } from "../find-server.ts";
import { findSession } from "../find-session.ts";
import { orSayHeld } from "../held.ts";
import { print, remark } from "../output.ts";
import { collect, duration } from "../parse.ts";
import { safeJson, safeText } from "../safe-text.ts";

type SendFlags = WorkspaceFlags & {
	readonly key?: readonly string[];
	readonly enter?: true;
	readonly paste?: true;
	readonly offset?: true;
	readonly wait?: true;
	readonly match?: string;
	readonly regex?: true;
	readonly idle?: number;
	readonly stable?: number;
	readonly timeout: number;
	readonly json?: true;
};

/** What --wait alone takes for a sign that there is something to read, if the program neither ends nor waits. */
const IDLE_MS = 3_000;
/** As `hawser wait` ends. */
const TIMED_OUT = 2;
const GONE = 3;

/**
 * How long keys wait for the program to show the text. Many take what arrives in one piece for something pasted,
 * and an Enter in it for a new line rather than for "go".
 */
const REACTION_MS = 250;

export const send: Command = withWorkspace(new Command("send"))
	.summary("type into a session")
	.description(
		"Sends text, exactly as it is, and then keys in the order given, once the program has shown the text or a " +
			"quarter of a second later. Keys are named as tmux does (Enter, Up, C-c, M-x, S-Tab, F5) or as ctrl+c, " +
			"alt+x, shift+tab.",
	)
	.argument("<session>", "its id, its name, or the beginning of either")
	.argument("[text]", "what to type; - reads it from stdin")
	.option("-k, --key <name>", "a key to press after the text; repeatable", collect)
	.option("--enter", "press Enter at the end")
	.option("--paste", "mark the text as pasted, so that the lines in it are not run one by one")
	.option("--offset", "print where the output stood before, for hawser wait --since and hawser logs --since")
	.option(
		"-w, --wait",
		"then wait until the program waits for input, the shell is at its prompt, or nothing was written for 3 s, and print " +
			"what was written since; ends with 2 when the time was up, and with 3 when the program has ended",
	)
	.option("--match <text>", "with --wait, until this text was written", String)
	.option("--regex", "--match is a JavaScript regular expression, which matches within a line")
	.option("--idle <duration>", "with --wait, until nothing was written for this long", duration)
	.option("--stable <duration>", "with --wait, until the screen is the same for this long", duration)
	.option("--timeout <duration>", "with --wait, for this long at most", duration, limits.runMs)
	.option("--json", "with --wait, print all about it as JSON")
	.addHelpText(
		"after",
		"\nExamples:\n  hawser send build 'make test' --enter\n  hawser send db 'select 1;' --enter --wait\n  hawser send build --key C-c\n" +
			"  hawser send k3v9 - < script.sql\n  hawser send agent --paste --enter - < prompt.md",
	)
	.action(async (wanted: string, text: string | undefined, flags: SendFlags) => {
		const names = [...(flags.key ?? []), ...(flags.enter ? ["Enter"] : [])];
		const keys = Buffer.concat(names.map(bytesOf));
		if (!flags.wait && (flags.match ?? flags.idle ?? flags.stable ?? flags.json) !== undefined) {
			throw new UsageError("--match, --idle, --stable and --json are for --wait");
		}
		if (flags.regex && flags.match === undefined) throw new UsageError("--regex is for --match");
		if (text === undefined && keys.byteLength === 0) {
			throw new UsageError("nothing to send: give a text, --key or --enter");
		}
		const typed = text === "-" ? await buffer(process.stdin) : Buffer.from(text ?? "");
		const { client } = await findServer(flags);
		const { id, offsets } = await findSession(client, wanted, flags);
		const session = client.sessions.at(id);
		if (flags.wait) {
			const input = { text: typed.toString(), keys: names, paste: flags.paste === true };
			return orSayHeld(client, id, sendAndWait(session, input, flags));
		}
		if (typed.byteLength > 0) await orSayHeld(client, id, session.write(flags.paste ? pasted(typed) : typed));
		if (typed.byteLength > 0 && keys.byteLength > 0) await session.output(offsets.end, { wait: REACTION_MS, limit: 1 });
		if (keys.byteLength > 0) await orSayHeld(client, id, session.write(keys));
		if (flags.offset) await print(`${offsets.end}\n`);
	});

async function sendAndWait(
	session: Session,
	input: { readonly text: string; readonly keys: string[]; readonly paste: boolean },
	{ match, regex, idle, stable, timeout, json }: SendFlags,
): Promise<void> {
	const asked = {
		...(match === undefined ? {} : { match: regex ? expressionOf(match) : match }),
		...(idle === undefined ? {} : { idleMs: idle }),
		...(stable === undefined ? {} : { stableMs: stable }),
	};
	const until = Object.keys(asked).length > 0 ? asked : { input: true, end: true, idleMs: IDLE_MS };
	const answer = await session.send({ ...input, until, limit: limits.maxTextBytes }, { timeoutMs: timeout });
	if (json) await print(`${safeJson(answer)}\n`);
	else if (answer.text !== "") await print(`${safeText(answer.text).trimEnd()}\n`);
	if (answer.cause === "timeout") {
		remark(`the time was up: in ${formatDuration(timeout)} it did not come to what was waited for`);
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

/** As a terminal does; what would end the paste early is not part of any text. */
function pasted(text: Buffer): Buffer {
	const safe = text.toString("latin1").replaceAll("\u001b[201~", "");
	return Buffer.from(`\u001b[200~${safe}\u001b[201~`, "latin1");
}

function bytesOf(name: string): Uint8Array {
	const bytes = encodeKey(name);
	if (bytes) return bytes;
	throw new UsageError(`there is no key ${JSON.stringify(name)}; keys are named like Enter, Up, F5, C-c or ctrl+c`);
}
