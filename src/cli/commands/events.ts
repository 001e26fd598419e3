/** `hawser events`: what happens to all sessions, as it happens. */

import { readFile } from "node:fs/promises";
import { Command, Option } from "commander";
import type { FeedConnection, FeedEvent, FeedItem, FeedType, HawserError } from "../../client/index.ts";
import { formatDuration } from "../../protocol/units.ts";
import { nameOf } from "../describe-session.ts";
import { UsageError } from "../errors.ts";
import { findServer, type WorkspaceFlags, withWorkspace } from "../find-server.ts";
import { print, remark } from "../output.ts";
import { collect, duration } from "../parse.ts";
import { safeJson, safeLine } from "../safe-text.ts";
import { save } from "../save.ts";

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
	.summary("follow what happens to all sessions")
	.description(
		"Prints what happens to sessions, one line each, until it is ended: that a program waits for somebody (waiting), a " +
			"shell is ready or has run a command (ready, command), somebody is to approve something or give a secret (approval, " +
			"secret), something was created, exited, closed, lost or removed. " +
			"While the server is away it waits, and goes on where it was: nothing is left out or told twice.",
	)
	.addOption(
		new Option(
			"-t, --type <types...>",
			"only these; failed is what did not end well by itself, and what is lost",
		).choices([
			"created",
			"exited",
			"closed",
			"lost",
			"removed",
			"waiting",
			"ready",
			"command",
			"quiet",
			"approval",
			"secret",
			"failed",
		]),
	)
	.option(
		"--quiet-for <duration>",
		"tell of programs that have written nothing for this long, too, such as 5m",
		duration,
	)
	.option("-l, --label <key[=value]>", "only of sessions with this label; repeatable", collect)
	.option("--task <id>", "only of those that were started for this task")
	.option("--since <cursor>", "go on after this place, which --json prints with each event")
	.option("--cursor-file <file>", "keep the place in this file, and go on from there the next time")
	.option("--json", "as one JSON object a line")
	.addHelpText(
		"after",
		"\nExamples:\n  hawser events\n  hawser events --type waiting failed\n  hawser events --type quiet --quiet-for 10m --label kind=agent\n" +
			"  hawser events --json --cursor-file ~/.cache/hawser-cursor | while read -r event; do …; done",
	)
	.action(async ({ since, cursorFile, quietFor, type, task, label, workspace, json, ...flags }: EventsFlags) => {
		if (since !== undefined && cursorFile !== undefined)
			throw new UsageError("--since and --cursor-file exclude each other");
		const { client } = await findServer(flags);
		const begin = cursorFile === undefined ? since : await readCursor(cursorFile);
		const items = client.events({
			...(begin === undefined ? {} : { since: begin }),
			...(quietFor === undefined ? {} : { quietMs: quietFor }),
			...(type === undefined ? {} : { type }),
			...(task === undefined ? {} : { task }),
			...(label === undefined ? {} : { label }),
			...(workspace === undefined ? {} : { workspace }),
			onConnection: sayWhetherItIsThere(),
			...(cursorFile === undefined ? {} : { onCursor: keepIn(cursorFile) }),
		});
		for await (const item of items) {
			await print(json ? `${safeJson(toJson(item), 0)}\n` : lineOf(item));
		}
	});

/** Undefined for a file that is to be made. */
async function readCursor(file: string): Promise<string | undefined> {
	try {
		return (await readFile(file, "utf8")).trim() || undefined;
	} catch (error) {
		if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
		throw error;
	}
}

/** It hears of a place once all before it is printed: if we are killed, rather is something printed twice than never. */
function keepIn(file: string): (cursor: string) => Promise<void> {
	return (cursor) => save([`${cursor}\n`], file);
}

/** Once when the server goes or refuses, and once when it tells events again. */
function sayWhetherItIsThere(): (connection: FeedConnection) => void {
	let said: string | undefined;
	return (connection) => {
		const now = connection.state === "disconnected" ? troubleOf(connection.error) : undefined;
		if (now === said) return;
		said = now;
		remark(now ?? "the server is back");
	};
}

/** There are others than that it is away, of which somebody can do something. */
function troubleOf({ code, message, hint }: HawserError): string {
	if (code !== "limit_exceeded") return "the server is away; waiting for it";
	return `${message}${hint === undefined ? "" : ` (${hint})`}; trying again`;
}

function toJson(item: FeedItem): object {
	return item.kind === "event" ? { cursor: item.cursor, ...item.event } : { cursor: item.cursor, type: item.kind };
}

function lineOf(item: FeedItem): string {
	if (item.kind === "begin") return "";
	if (item.kind === "gap") return "some events were missed: hawser ls shows how it is now\n";
	const { type, time, session } = item.event;
	const words = [new Date(time).toISOString(), type.padEnd(8), nameOf(session), detailsOf(item.event)];
	return `${safeLine(words.filter((word) => word !== "").join("  "))}\n`;
}

function detailsOf({ exit, prompt, kind, command, quietMs, approval, secret }: FeedEvent): string {
	if (approval) return [approval.state, approval.kind, approval.preview.trimEnd()].filter((word) => word).join("  ");
	if (secret) return [secret.status, secret.name ?? prompt].filter((word) => word).join("  ");
	if (exit) return exit.signal ?? `exit ${exit.code}`;
	if (command) return `exit ${command.exitCode}  ${command.command ?? ""}`;
	if (quietMs !== undefined) return `nothing for ${formatDuration(quietMs)}`;
	return [kind, prompt].filter((word) => word).join("  ");
}
