/** `hawser watch`: shows which sessions need attention in a live table, and answers them. */

import { Command, Option } from "commander";
import {
	type Client,
	type HawserError,
	LiveSessions,
	type SessionFilter,
	type SessionInfo,
} from "../../client/index.ts";
import { collect, RECONNECT_TIMEOUT_MS } from "../args/values.ts";
import { attachSession } from "../attach/attach-session.ts";
import { type EscapePrefixes, escapeOption } from "../attach/escape-keys.ts";
import { outcomeMessage } from "../attach/outcome.ts";
import { enclosingSessions } from "../connect/caller-environment.ts";
import { findServer, type WorkspaceFlags, withWorkspace } from "../connect/find-server.ts";
import { UsageError } from "../print/errors.ts";
import { printNotice } from "../print/output.ts";
import { LocalTerminal } from "../terminal/local-terminal.ts";
import { ChangePrinter } from "../watch/change-printer.ts";
import { Notifier, type NotifyMethod, notifyMethods } from "../watch/notifier.ts";
import { nameOf } from "../watch/rows.ts";
import { WatchTable } from "../watch/table.ts";

type WatchFlags = WorkspaceFlags & {
	readonly label?: readonly string[];
	readonly needsMe?: true;
	readonly json?: true;
	/** True if the flag has no value. */
	readonly notify?: NotifyMethod | true;
	readonly notifyCommand?: string;
	readonly escape: EscapePrefixes;
};

/** Silence produces no event, so check at this interval. */
const POLL_MS = 10_000;

export const watch: Command = withWorkspace(new Command("watch"))
	.summary("watch sessions and answer the ones that need input")
	.description(
		"Shows all sessions in a live table. Sessions that need you come first: approvals, questions, secrets, " +
			"failures, unusual silence. Running and ended sessions follow. Enter answers the selected session; its " +
			"program gets the line once, and only if it still asks the same question. Secrets are not displayed. y " +
			"and n decide an approval after all of it was shown. ? lists the keys, q quits. If the server goes " +
			"down, watch waits for it.\n\nWithout a terminal, or with --json, prints one line per change.",
	)
	.option("-l, --label <key[=value]>", "only sessions with this label; repeatable", collect)
	.option("--needs-me", "only sessions that need attention")
	.option("--json", "print one JSON object per change")
	.addOption(
		new Option("--notify [how]", "notify through the terminal (bell or desktop notification) when a session needs you")
			.choices(notifyMethods)
			.preset("auto"),
	)
	.option("--notify-command <line>", "shell command to run on each notification, with HAWSER_NOTIFY_* variables")
	.addOption(escapeOption())
	.addHelpText(
		"after",
		"\nExamples:\n  hawser watch\n  hawser watch --needs-me --label kind=agent --notify\n" +
			'  hawser watch --notify-command \'notify-send -- "$HAWSER_NOTIFY_NAME" "$HAWSER_NOTIFY_TEXT"\'\n' +
			"  hawser watch --json | jq -r 'select(.need) | .id'",
	)
	.action(async ({ label = [], workspace, ...flags }: WatchFlags) => {
		const { client, isLocal } = await findServer(flags);
		const isTable = LocalTerminal.isInteractive && !flags.json && process.env.TERM !== "dumb";
		if (!isTable && flags.notify) {
			throw new UsageError("--notify needs a terminal; use --notify-command");
		}
		const wanted = { workspace, labels: label };
		if (!isTable) return printChanges(client, { ...wanted, q: "" }, flags);
		// Fail before the alternate screen opens if the server is unreachable or refuses the token.
		await client.me();
		const board = new WatchTable({
			client,
			isLocal,
			wanted,
			isNeeding: flags.needsMe === true,
			hidden: enclosingSessions(process.env),
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
	onTrouble: (message: string) => void,
): Notifier {
	const way = notify === undefined || notify === true ? "auto" : notify;
	return new Notifier(
		{ writeToTerminal: notify === undefined ? undefined : ring, command: notifyCommand, onTrouble },
		way,
	);
}

/**
 * Attaches until the user detaches; after the program ends, waits for a key. Resolves with a termination signal, if one
 * arrived.
 */
async function openHere(
	client: Client,
	{ id }: SessionInfo,
	keys: EscapePrefixes,
): Promise<NodeJS.Signals | undefined> {
	const session = client.sessions.at(id);
	// The list's info may be outdated.
	const info = await session.info();
	const ending = await attachSession(session, info, { escape: keys, reconnectTimeout: RECONNECT_TIMEOUT_MS });
	if (ending.kind === "left") return ending.signal;
	const message = outcomeMessage(ending, nameOf(info)) ?? "the program ended";
	process.stderr.write("\n");
	printNotice(`${message}; press any key to return to the list`);
	await waitForKey();
	return undefined;
}

async function waitForKey(): Promise<void> {
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

/** Runs until a signal, or until the server refuses. */
function printChanges(client: Client, wanted: SessionFilter, flags: WatchFlags): Promise<void> {
	const lines = new ChangePrinter({ wanted, isNeeding: flags.needsMe === true, isJson: flags.json === true });
	const notifier = notifies(flags) ? makeNotifier(flags, () => {}, printNotice) : undefined;
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
		const timer = setInterval(() => look(), POLL_MS);
		const look = () => {
			const isCut = live.connection.kind === "disconnected";
			if (isCut !== wasCut) printNotice(isCut ? "server unreachable; reconnecting" : "reconnected");
			wasCut = isCut;
			if (live.connection.kind !== "live") return;
			const needing = lines.update(live, Date.now());
			notifier?.look(needing, live);
		};
		live.follow();
	});
}
