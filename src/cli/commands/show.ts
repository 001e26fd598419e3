/** `hawser show`: shows details of a session. */

import { Command } from "commander";
import { commandText, type SessionMessage } from "../../client/index.ts";
import { formatDuration } from "../../words/units.ts";
import { findServer, type WorkspaceFlags, withWorkspace } from "../connect/find-server.ts";
import { findSession } from "../connect/find-session.ts";
import { keyValueList, print } from "../print/output.ts";
import { safeJson } from "../print/safe-text.ts";
import { sessionStateText } from "../print/session-text.ts";

export const show: Command = withWorkspace(new Command("show"))
	.summary("show details of a session")
	.description("Shows a session's program, settings, attached clients and exit status.")
	.argument("[session]", "session ID, name or prefix (default: the most recent session)")
	.option("--json", "print as JSON, with all fields")
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
		["state", sessionStateText(session)],
		["command", commandText(session.argv)],
		["directory", session.cwd],
		["process", session.pid === null ? null : String(session.pid)],
		["terminal", session.mode === "pty" ? `${size.cols}x${size.rows}` : "none (pipes)"],
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
		["output", offsets && `${offsets.end} bytes, available from ${offsets.oldest}`],
		["attached", `${session.attachments}${lease.holder === null ? "" : `; controlled by ${lease.holder}`}`],
		...Object.entries(limits).map(([name, ms]): [string, string | null] => [
			name,
			ms === 0 ? null : formatDuration(ms),
		]),
		["durable", session.durable ? "yes" : "no (ends with the server)"],
	];
	return keyValueList(rows);
}
