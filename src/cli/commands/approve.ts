/** `hawser approve`: what agents want to do and may not do alone; grants or denies it. */

import { Command } from "commander";
import type { ApprovalMessage, Client } from "../../client/index.ts";
import { formatDuration } from "../../protocol/units.ts";
import { UsageError } from "../errors.ts";
import { findServer, type ServerFlags, withServer } from "../find-server.ts";
import { print, remark } from "../output.ts";
import { safeLine } from "../safe-text.ts";

type ApproveFlags = ServerFlags & {
	readonly deny?: true;
	readonly note?: string;
	readonly evenIfChanged?: true;
	readonly json?: true;
};

export const approve: Command = withServer(new Command("approve"))
	.summary("decide what agents may not do alone")
	.description(
		"Lists what waits to be approved, or grants one of them, once: it is done then, unless its session has written " +
			"something since, or somebody else has taken control. What nobody approves is not done. Tokens get a gate by " +
			"hawser token create --gate.",
	)
	.argument("[id]", "of what to decide, or the beginning of its id; without it, what waits is listed")
	.option("--deny", "refuse it")
	.option("--note <text>", "say why, to who asked")
	.option("--even-if-changed", "grant it although there was more output since it was asked for")
	.option("--json", "as JSON, with everything the server says")
	.addHelpText(
		"after",
		"\nExamples:\n  hawser approve\n  hawser approve a_3f\n  hawser approve a_3f --deny --note 'not on this machine'\n" +
			"  hawser approve --json | jq -r '.[].preview'",
	)
	.action(async (wanted: string | undefined, flags: ApproveFlags) => {
		const { client } = await findServer(flags);
		const { deny, note, evenIfChanged, json } = flags;
		if (wanted === undefined) {
			if (deny || note !== undefined || evenIfChanged) throw new UsageError("which one? hawser approve lists them");
			return list(await client.approvals.list(), json === true);
		}
		const decided = await client.approvals.decide(await idOf(client, wanted), {
			decision: deny ? "deny" : "grant",
			...(note === undefined ? {} : { note }),
			...(evenIfChanged ? { evenIfChanged } : {}),
		});
		if (json) await print(`${JSON.stringify(decided, null, 2)}\n`);
		else remark(`${decided.state}: ${titleOf(decided)}${decided.state === "expired" ? `: ${decided.note}` : ""}`);
		if (!deny && decided.state !== "granted") process.exitCode = 1;
	});

async function list(approvals: readonly ApprovalMessage[], isJson: boolean): Promise<void> {
	if (isJson) return print(`${JSON.stringify(approvals, null, 2)}\n`);
	if (approvals.length === 0) return remark("nothing waits to be approved");
	const now = Date.now();
	for (const approval of approvals) {
		const left = formatDuration(Math.max(0, approval.expiresAt - now));
		const lines = approval.preview
			.trimEnd()
			.split("\n")
			.map((line) => `    ${safeLine(line)}\n`);
		await print(`${approval.id}  ${safeLine(titleOf(approval))}, ${left} left\n${lines.join("")}`);
	}
}

function titleOf({ kind, session, by, reason }: ApprovalMessage): string {
	const why = reason === "unreadable" ? ", whose keys do not say what it is" : "";
	return `${kind} in ${session.name ?? session.id}, by ${by.name}${why}`;
}

async function idOf(client: Client, wanted: string): Promise<string> {
	const found = (await client.approvals.list()).filter(({ id }) => id.startsWith(wanted));
	if (found.length > 1) throw new UsageError(`${found.length} that wait have an id that begins with ${wanted}`);
	// One that does not wait any more is the server's to speak of.
	return found[0]?.id ?? wanted;
}
