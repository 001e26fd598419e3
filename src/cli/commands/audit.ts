/** `hawser audit`: who did what, and whether that record is as it was written. */

import { stat } from "node:fs/promises";
import { Command } from "commander";
import { type AuditFilter, type AuditMessage, type Client, HawserError } from "../../client/index.ts";
import { stateFolder } from "../../local/locate.ts";
import { auditDirectory, verifyAudit } from "../../server/open-audit.ts";
import { UsageError } from "../errors.ts";
import { findServer, type ServerFlags, withServer } from "../find-server.ts";
import { findSession } from "../find-session.ts";
import { print, remark, table } from "../output.ts";
import { wholeNumber } from "../parse.ts";
import { safeJson } from "../safe-text.ts";

/** Shown unless more are asked for. */
const SHOWN = 100;
const PAGE = 1_000;

type ListFlags = ServerFlags & {
	readonly session?: string;
	readonly principal?: string;
	readonly action?: string;
	readonly after?: number;
	readonly last: number;
	readonly json?: true;
};

const list = withServer(new Command("ls"))
	.alias("list")
	.summary("show who did what")
	.description(
		"Shows the newest entries, oldest first: who did what to which session, and from where. For the operator.",
	)
	.option(
		"--session <session>",
		"of this session alone: its id, also of one that was removed, its name, or a beginning",
	)
	.option("--principal <id>", "by this one alone: admin, or the id of a token")
	.option("--action <name>", "of this kind alone, such as open, input, take-over, refused or end")
	.option("--after <seq>", "from the one after this number on", wholeNumber)
	.option("-n, --last <count>", "no more than the last so many; 0 is all", wholeNumber, SHOWN)
	.option("--json", "as one JSON object a line, with everything the server says")
	.addHelpText(
		"after",
		"\nExamples:\n  hawser audit\n  hawser audit ls --action refused\n  hawser audit ls --json -n 0",
	)
	.action(async ({ after, last, json, session, principal, action, ...flags }: ListFlags) => {
		const { client } = await findServer(flags);
		const meant = session === undefined ? undefined : await sessionOf(client, session);
		const filter: AuditFilter = { session: meant?.id, principal, action };
		let shown: AuditMessage[] = [];
		for (let next: number | null = after ?? 0; next !== null; ) {
			const page = await client.audit({ ...filter, after: next, limit: PAGE });
			shown = [...shown, ...page.entries].slice(last === 0 ? 0 : -last);
			next = page.next;
		}
		if (json) return print(shown.map((entry) => `${safeJson(entry, 0)}\n`).join(""));
		if (shown.length === 0 && meant?.unknown) throw meant.unknown;
		if (shown.length === 0) return remark("there is no such entry");
		await print(
			table(
				["SEQ", "TIME", "WHO", "FROM", "ACTION", "WORKSPACE", "SESSION", "DETAILS"],
				shown.map(toRow),
				process.stdout.columns,
			),
		);
	});

/** The record knows sessions that are gone, by their whole ids; whether one of them is meant shows in what is found. */
async function sessionOf(client: Client, wanted: string): Promise<{ id: string; unknown?: HawserError }> {
	try {
		return await findSession(client, wanted);
	} catch (error) {
		if (error instanceof HawserError && error.code === "session_not_found") return { id: wanted, unknown: error };
		throw error;
	}
}

type VerifyFlags = { readonly stateDir?: string; readonly head?: string };

const verify = new Command("verify")
	.summary("check that the record is as it was written")
	.description(
		"Checks the record's files, with a server or without: that no line was changed, added, moved or taken away. Lines " +
			"cut off at the end can't be missed that way; with --head, a hash that was noted before, they are. Ends with 1 " +
			"when something is wrong, there is nothing to check, or what was before the noted hash is not here to be checked.",
	)
	.argument("[file]", "one file, or a directory of them (default: those of the state directory)")
	.option("--state-dir <dir>", "whose record it is")
	.option("--head <hash>", "the newest hash when it was last looked at")
	.addHelpText(
		"after",
		"\nExamples:\n  hawser audit verify\n  hawser audit verify --head 9f86d081…  audit-000007.jsonl",
	)
	.action(async (path: string | undefined, { stateDir, head }: VerifyFlags) => {
		if (head !== undefined && !/^[0-9a-f]{64}$/.test(head))
			throw new UsageError("--head: expected 64 digits of a hash");
		const verdict = await verifyAudit(await placeOf(path, stateDir), head);
		const { fault, entries, base } = verdict;
		for (const text of verdict.remarks) remark(text);
		if (fault) {
			const place = fault.line === undefined ? fault.path : `${fault.path}, line ${fault.line}`;
			remark(`${place}: ${fault.message}`);
			process.exitCode = 1;
			return;
		}
		const from = base === undefined ? "" : `, after ${base.seq} that are not here`;
		await print(`ok: ${entries} entries${from}; head ${verdict.head.seq} ${verdict.head.hash}\n`);
	});

async function placeOf(
	path: string | undefined,
	stateDir: string | undefined,
): Promise<Parameters<typeof verifyAudit>[0]> {
	if (path === undefined) return { directory: auditDirectory(stateFolder(stateDir === undefined ? {} : { stateDir })) };
	const found = await stat(path).catch(() => undefined);
	if (!found) throw new UsageError(`${path} can't be read`);
	return found.isDirectory() ? { directory: path } : { file: path };
}

function toRow({ seq, time, action, by, session, workspace, prev: _, hash: __, ...details }: AuditMessage): string[] {
	const said = Object.entries(details).map(
		([name, value]) => `${name}=${typeof value === "string" ? value : JSON.stringify(value)}`,
	);
	const when = new Date(time).toISOString();
	const who = [by?.name ?? by?.id ?? "-", by?.from ?? "-"];
	return [String(seq), when, ...who, action, workspace ?? "-", session ?? "-", said.join(" ")];
}

export const audit: Command = new Command("audit")
	.summary("show who did what, and check that record")
	.description("The server records who did what to which session, and from where; never what was typed.")
	.addHelpText("after", "\nExamples:\n  hawser audit\n  hawser audit ls --session build\n  hawser audit verify")
	.addCommand(list, { isDefault: true })
	.addCommand(verify);
