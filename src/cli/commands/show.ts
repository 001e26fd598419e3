/** `hawser show`: all that the server says of a session. */

import { Command } from "commander";
import { type SessionMessage, typedLine } from "../../client/index.ts";
import { formatDuration } from "../../protocol/units.ts";
import { stateOf } from "../describe-session.ts";
import { findServer, type WorkspaceFlags, withWorkspace } from "../find-server.ts";
import { findSession } from "../find-session.ts";
import { facts, print } from "../output.ts";
import { safeJson } from "../safe-text.ts";

export const show: Command = withWorkspace(new Command("show"))
	.summary("show all about a session")
	.description("Shows what a session is: its program, where and how it runs, who is there, and how it ended.")
	.argument("[session]", "its id, its name, or the beginning of either (default: the most recent)")
	.option("--json", "as JSON, with everything the server says")
	.addHelpText("after", "\nExamples:\n  hawser show build\n  hawser show build --json | jq .exit")
	.action(async (wanted: string | undefined, { json, ...flags }: WorkspaceFlags & { json?: true }) => {
		const { client } = await findServer(flags);
		const session = await findSession(client, wanted, flags);
		await print(json ? `${safeJson(session)}\n` : lines(session, Date.now()));
	});

function lines(session: SessionMessage, now: number): string {
	const { size, lease, offsets, labels } = session;
	const ago = (time: number) => `${new Date(time).toISOString()} (${formatDuration(now - time)} ago)`;
	const limits = { timeout: session.timeoutMs, "idle timeout": session.idleTimeoutMs };
	const rows: [string, string | null][] = [
		["id", session.id],
		["name", session.name],
		["state", stateOf(session)],
		["command", typedLine(session.argv)],
		["directory", session.cwd],
		["process", session.pid === null ? null : String(session.pid)],
		["terminal", session.mode === "pty" ? `${size.cols}x${size.rows}` : "none, it runs on pipes"],
		["workspace", session.workspace],
		["task", session.task],
		[
			"labels",
			Object.entries(labels)
				.map(([key, value]) => `${key}=${value}`)
				.join(" ") || null,
		],
		["started", ago(session.createdAt)],
		["active", session.activeAt === null ? null : ago(session.activeAt)],
		["ended", session.endedAt === null ? null : ago(session.endedAt)],
		["output", `${offsets.end} bytes, readable from ${offsets.oldest} on`],
		["attached", `${session.attachments}${lease.holder === null ? "" : `; ${lease.holder} has control`}`],
		...Object.entries(limits).map(([name, ms]): [string, string | null] => [
			name,
			ms === 0 ? null : formatDuration(ms),
		]),
		["durable", session.durable ? "yes" : "no: it ends with the server"],
	];
	return facts(rows);
}
