/** `hawser events`: streams session events. */

import { readFile } from "node:fs/promises";
import { Command, Option } from "commander";
import type { FeedConnection, FeedEvent, FeedItem, FeedType, HawserError } from "../../client/index.ts";
import { feedTypes } from "../../words/feed-types.ts";
import { formatDuration } from "../../words/units.ts";
import { collect, duration } from "../args/values.ts";
import { findServer, type WorkspaceFlags, withWorkspace } from "../connect/find-server.ts";
import { UsageError } from "../print/errors.ts";
import { print, printNotice } from "../print/output.ts";
import { safeJson, safeLine } from "../print/safe-text.ts";
import { save } from "../print/save-file.ts";
import { displayName } from "../print/session-text.ts";

type EventsFlags = WorkspaceFlags & {
	readonly since?: string;
	readonly cursorFile?: string;
	readonly type?: readonly FeedType[];
	readonly quietFor?: number;
	readonly task?: string;
	readonly label?: readonly string[];
	readonly json?: true;
};

export const events: Command = withWorkspace(new Command("events"))
	.summary("stream session events")
	.description(
		"Prints session events, one per line, until interrupted: a program waits for input (waiting); a shell " +
			"is ready or ran a command (ready, command); an approval or a secret is requested (approval, secret); " +
			"a session was created, exited, closed, lost or removed; the state of a coding agent changed (agent). " +
			"Continues across server restarts, without gaps or repeats.",
	)
	.addOption(
		new Option(
			"-t, --type <types...>",
			"only these types; failed matches non-zero exits, signals and lost sessions",
		).choices([...feedTypes.filter((type) => type !== "changed"), "failed"]),
	)
	.option("--quiet-for <duration>", "also report programs without output for this long, such as 5m", duration)
	.option("-l, --label <key[=value]>", "only sessions with this label; repeatable", collect)
	.option("--task <id>", "only sessions of this task")
	.option("--since <cursor>", "continue after this cursor (printed by --json)")
	.option("--cursor-file <file>", "store the cursor in this file, and continue from it")
	.option("--json", "print one JSON object per line")
	.addHelpText(
		"after",
		"\nExamples:\n  hawser events\n  hawser events --type waiting failed\n  hawser events --type quiet --quiet-for 10m --label kind=agent\n" +
			"  hawser events --json --cursor-file ~/.cache/hawser-cursor | while read -r event; do …; done",
	)
	.action(async ({ since, cursorFile, quietFor, type, task, label, workspace, json, ...flags }: EventsFlags) => {
		if (since !== undefined && cursorFile !== undefined)
			throw new UsageError("--since and --cursor-file cannot be used together");
		const { client } = await findServer(flags);
		const begin = cursorFile === undefined ? since : await readCursor(cursorFile);
		const items = client.events({
			...(begin === undefined ? {} : { since: begin }),
			...(quietFor === undefined ? {} : { quietMs: quietFor }),
			...(type === undefined ? {} : { type }),
			...(task === undefined ? {} : { task }),
			...(label === undefined ? {} : { label }),
			...(workspace === undefined ? {} : { workspace }),
			onConnection: connectionReporter(),
			...(cursorFile === undefined ? {} : { onCursor: cursorWriter(cursorFile) }),
		});
		for await (const item of items) {
			await print(json ? `${safeJson(toJson(item), 0)}\n` : lineOf(item));
		}
	});

/** Undefined if the file does not exist yet. */
async function readCursor(file: string): Promise<string | undefined> {
	try {
		return (await readFile(file, "utf8")).trim() || undefined;
	} catch (error) {
		if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
		throw error;
	}
}

/** Saves a cursor after everything before it was printed, so that a kill repeats an event rather than losing it. */
function cursorWriter(file: string): (cursor: string) => Promise<void> {
	return (cursor) => save([`${cursor}\n`], file);
}

/** Prints one notice when the connection fails, and one when it is back. */
function connectionReporter(): (connection: FeedConnection) => void {
	let said: string | undefined;
	return (connection) => {
		const now = connection.state === "disconnected" ? disconnectMessage(connection.error) : undefined;
		if (now === said) return;
		said = now;
		printNotice(now ?? "reconnected");
	};
}

/** A limit is the user's to fix; any other error is an unreachable server. */
function disconnectMessage({ code, message, hint }: HawserError): string {
	if (code !== "limit_exceeded") return "server unreachable; reconnecting";
	return `${message}${hint === undefined ? "" : ` (${hint})`}; retrying`;
}

function toJson(item: FeedItem): object {
	return item.kind === "event" ? { cursor: item.cursor, ...item.event } : { cursor: item.cursor, type: item.kind };
}

function lineOf(item: FeedItem): string {
	if (item.kind === "begin") return "";
	if (item.kind === "gap") return "some events were missed; see hawser ls for the current state\n";
	const { type, time, session } = item.event;
	const words = [new Date(time).toISOString(), type.padEnd(8), displayName(session), detailsOf(item.event)];
	return `${safeLine(words.filter((word) => word !== "").join("  "))}\n`;
}

function detailsOf({ exit, prompt, kind, command, quietMs, approval, secret, agent }: FeedEvent): string {
	if (agent) return [agent.app, agent.state, agent.kind, agent.question].filter((word) => word).join("  ");
	if (approval) return [approval.state, approval.kind, approval.preview.trimEnd()].filter((word) => word).join("  ");
	if (secret) return [secret.status, secret.name ?? prompt].filter((word) => word).join("  ");
	if (exit) return exit.signal ?? `exit ${exit.code}`;
	if (command) return `exit ${command.exitCode}  ${command.command ?? ""}`;
	if (quietMs !== undefined) return `no output for ${formatDuration(quietMs)}`;
	return [kind, prompt].filter((word) => word).join("  ");
}
