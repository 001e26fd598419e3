/** `hawser watch`: which sessions need somebody, as a live table in which they are answered. */

import { Command, Option } from "commander";
import { type Client, type HawserError, type Listed, LiveSessions, type Wanted } from "../../client/index.ts";
import { attachHere } from "../attach-here.ts";
import { sentenceOf } from "../ending.ts";
import { UsageError } from "../errors.ts";
import { type Escape, escapeOption } from "../escape-keys.ts";
import { findServer, type WorkspaceFlags, withWorkspace } from "../find-server.ts";
import { LocalTerminal } from "../local-terminal.ts";
import { remark } from "../output.ts";
import { ownSessions } from "../own-environment.ts";
import { collect, PATIENCE_MS } from "../parse.ts";
import { Board } from "../watch/board.ts";
import { ChangeLines } from "../watch/lines.ts";
import { Notifier, type Way, ways } from "../watch/notifier.ts";
import { nameOf } from "../watch/rows.ts";

type WatchFlags = WorkspaceFlags & {
	readonly label?: readonly string[];
	readonly needsMe?: true;
	readonly json?: true;
	/** True is what it is without a value. */
	readonly notify?: Way | true;
	readonly notifyCommand?: string;
	readonly escape: Escape;
};

/** Silence is noticed by time alone. */
const LOOK_MS = 10_000;

export const watch: Command = withWorkspace(new Command("watch"))
	.summary("see which sessions need you, and answer them")
	.description(
		"Shows all sessions in a live table: first those in which something waits to be approved, that ask something, want " +
			"a secret, have failed or are unusually quiet, then those that run, then those that have ended. Enter answers the " +
			"selected one in place: its program gets the line once, and only if it still asks the same. A secret is not shown " +
			"while it is typed. y and n decide on what waits to be approved, once all of it was shown. ? lists all keys, q " +
			"quits. Should the server go away, it waits for it.\n\nWithout a terminal, or with --json, each change is a line.",
	)
	.option("-l, --label <key[=value]>", "only those with this label; repeatable", collect)
	.option("--needs-me", "only those that need somebody")
	.option("--json", "print each change as a line of JSON")
	.addOption(
		new Option("--notify [how]", "let the terminal ring, or show a notification, when one begins to need you")
			.choices(ways)
			.preset("auto"),
	)
	.option("--notify-command <line>", "run this by sh then, with the facts in HAWSER_NOTIFY_* variables")
	.addOption(escapeOption())
	.addHelpText(
		"after",
		"\nExamples:\n  hawser watch\n  hawser watch --needs-me --label kind=agent --notify\n" +
			'  hawser watch --notify-command \'notify-send -- "$HAWSER_NOTIFY_NAME" "$HAWSER_NOTIFY_TEXT"\'\n' +
			"  hawser watch --json | jq -r 'select(.need) | .id'",
	)
	.action(async ({ label = [], workspace, ...flags }: WatchFlags) => {
		const { client } = await findServer(flags);
		const isTable = LocalTerminal.isThere && !flags.json && process.env.TERM !== "dumb";
		if (!isTable && flags.notify) {
			throw new UsageError("--notify is for the table in a terminal; --notify-command works everywhere");
		}
		const wanted = { workspace, labels: label };
		if (!isTable) return printChanges(client, { ...wanted, q: "" }, flags);
		// Said on the usual screen, if it is not there or does not know us.
		await client.me();
		const board = new Board({
			client,
			wanted,
			isNeeding: flags.needsMe === true,
			hidden: ownSessions(process.env),
			notifier: notifies(flags) ? (ring, onTrouble) => makeNotifier(flags, ring, onTrouble) : undefined,
			open: (session) => openHere(client, session, flags.escape),
		});
		process.exitCode = await board.run();
	});

function notifies({ notify, notifyCommand }: WatchFlags): boolean {
	return notify !== undefined || notifyCommand !== undefined;
}

function makeNotifier(
	{ notify, notifyCommand }: WatchFlags,
	ring: (sequence: string) => void,
	onTrouble: (sentence: string) => void,
): Notifier {
	const way = notify === undefined || notify === true ? "auto" : notify;
	return new Notifier({ ring: notify === undefined ? undefined : ring, command: notifyCommand, onTrouble }, way);
}

/** Until somebody leaves it; of one that has ended, until a key is pressed. Resolves with the signal that made us leave, if one did. */
async function openHere(client: Client, { id }: Listed, keys: Escape): Promise<NodeJS.Signals | undefined> {
	const session = client.sessions.at(id);
	// As it is now, not as the list had it.
	const info = await session.info();
	const ending = await attachHere(session, info, { escape: keys, patience: PATIENCE_MS });
	if (ending.kind === "left") return ending.signal;
	const sentence = sentenceOf(ending, nameOf(info)) ?? "the program has ended";
	process.stderr.write("\n");
	remark(`${sentence}; press a key to go back to the list`);
	await aKey();
	return undefined;
}

async function aKey(): Promise<void> {
	process.stdin.setRawMode(true);
	try {
		await new Promise<void>((resolve) => {
			process.stdin.once("data", () => resolve());
			process.stdin.once("end", () => resolve());
			process.stdin.resume();
		});
	} finally {
		process.stdin.setRawMode(false);
	}
}

/** Until we are ended, or refused. */
function printChanges(client: Client, wanted: Wanted, flags: WatchFlags): Promise<void> {
	const lines = new ChangeLines({ wanted, isNeeding: flags.needsMe === true, isJson: flags.json === true });
	const notifier = notifies(flags) ? makeNotifier(flags, () => {}, remark) : undefined;
	let wasCut = false;
	return new Promise((_, reject) => {
		const live = new LiveSessions(client, {
			onChange: () => look(),
			onRefused: (error: HawserError) => {
				clearInterval(timer);
				notifier?.end();
				reject(error);
			},
		});
		const timer = setInterval(() => look(), LOOK_MS);
		const look = () => {
			const isCut = live.connection.kind === "cut";
			if (isCut !== wasCut) remark(isCut ? "the server is away; waiting for it" : "the server is back");
			wasCut = isCut;
			if (live.connection.kind !== "live") return;
			const needing = lines.look(live, Date.now());
			notifier?.look(needing);
		};
		live.follow();
	});
}
