/** `hawser approve`: lists and decides pending approvals. */

import { Command } from "commander";
import type { ApprovalMessage, Client } from "../../client/index.ts";
import { formatDuration } from "../../words/units.ts";
import { findServer, type ServerFlags, withServer } from "../connect/find-server.ts";
import { checkOutside, confirmOutside } from "../connect/outside-session.ts";
import { UsageError } from "../print/errors.ts";
import { print, printNotice } from "../print/output.ts";
import { safeLine } from "../print/safe-text.ts";

type ApproveFlags = ServerFlags & {
	readonly deny?: true;
	readonly note?: string;
	readonly evenIfChanged?: true;
	readonly json?: true;
};

export const approve: Command = withServer(new Command("approve"))
	.summary("review actions that wait for approval")
	.description(
		"Lists actions that wait for approval, or decides one. An approved action runs once, unless its session wrote " +
			"output or changed control since the request. Actions that are not approved never run. Approving is refused " +
			"inside a session; if only the environment names one, a terminal prompt confirms first. Create gated tokens with " +
			"hawser token create --gate.",
	)
	.argument("[id]", "approval ID or prefix (default: list all)")
	.option("--deny", "deny the action")
	.option("--note <text>", "reason, shown to the requester")
	.option("--even-if-changed", "approve even if the session wrote output since the request")
	.option("--json", "print as JSON, with all fields")
	.addHelpText(
		"after",
		"\nExamples:\n  hawser approve\n  hawser approve a_3f\n  hawser approve a_3f --deny --note 'not on this machine'\n" +
			"  hawser approve --json | jq -r '.[].preview'",
	)
	.action(async (wanted: string | undefined, flags: ApproveFlags) => {
		const { client, isLocal } = await findServer(flags);
		const { deny, note, evenIfChanged, json } = flags;
		if (wanted === undefined) {
			if (deny || note !== undefined || evenIfChanged)
				throw new UsageError("missing approval ID; list them with hawser approve");
			return list(await client.approvals.list(), json === true);
		}
		const id = await idOf(client, wanted);
		if (!deny) {
			checkOutside({ isLocal });
			await confirmOutside(process.env, await shownOf(client, id));
		}
		const decided = await client.approvals.decide(id, {
			decision: deny ? "deny" : "grant",
			...(note === undefined ? {} : { note }),
			...(evenIfChanged ? { evenIfChanged } : {}),
		});
		if (json) await print(`${JSON.stringify(decided, null, 2)}\n`);
		else printNotice(`${decided.state}: ${titleOf(decided)}${decided.state === "expired" ? `: ${decided.note}` : ""}`);
		if (!deny && decided.state !== "granted") process.exitCode = 1;
	});

async function list(approvals: readonly ApprovalMessage[], isJson: boolean): Promise<void> {
	if (isJson) return print(`${JSON.stringify(approvals, null, 2)}\n`);
	if (approvals.length === 0) return printNotice("no pending approvals");
	const now = Date.now();
	for (const approval of approvals) {
		const left = formatDuration(Math.max(0, approval.expiresAt - now));
		const lines = linesOf(approval).map((line) => `    ${line}\n`);
		await print(`${approval.id}  ${safeLine(titleOf(approval))}, ${left} left\n${lines.join("")}`);
	}
}

function linesOf({ preview }: ApprovalMessage): string[] {
	return preview.trimEnd().split("\n").map(safeLine);
}

/** The approval as lines for the confirmation. */
async function shownOf(client: Client, id: string): Promise<string[]> {
	const approval = await client.approvals.get(id);
	return [safeLine(titleOf(approval)), ...linesOf(approval)];
}

function titleOf({ kind, session, by, reason }: ApprovalMessage): string {
	const unknown = kind === "permission" ? "a command that is not known in full" : "keys whose effect is unknown";
	const why = reason === "unreadable" ? ` (${unknown})` : "";
	return `${kind} in ${session.name ?? session.id}, requested by ${by.name}${why}`;
}

async function idOf(client: Client, wanted: string): Promise<string> {
	const found = (await client.approvals.list()).filter(({ id }) => id.startsWith(wanted));
	if (found.length > 1) throw new UsageError(`prefix ${wanted} matches ${found.length} approvals`);
	// The server reports an approval that is no longer pending.
	return found[0]?.id ?? wanted;
}
