/** `hawser audit`: lists and verifies the audit log. */

import { stat } from "node:fs/promises";
import { Command } from "commander";
import { type AuditFilter, type AuditMessage, type Client, HawserError } from "../../client/index.ts";
import { stateDirectory } from "../../client/node/locate.ts";
import { auditDirectory, verifyAudit } from "../../server/audit.ts";
import { wholeNumber } from "../args/values.ts";
import { findServer, type ServerFlags, withServer } from "../connect/find-server.ts";
import { findSession } from "../connect/find-session.ts";
import { UsageError } from "../print/errors.ts";
import { print, printNotice, table } from "../print/output.ts";
import { safeJson } from "../print/safe-text.ts";

/** Default for --last. */
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
	.summary("list audit entries")
	.description("Lists audit entries, oldest first: who did what to which session, and from where. Operator only.")
	.option("--session <session>", "only this session: ID (also of a deleted one), name or prefix")
	.option("--principal <id>", "only this caller: admin, or a token ID")
	.option("--action <name>", "only this action, such as open, input, take-over, refused or end")
	.option("--after <seq>", "only entries after this sequence number", wholeNumber)
	.option("-n, --last <count>", "print at most the last <count> entries; 0 prints all", wholeNumber, SHOWN)
	.option("--json", "print one JSON object per line, with all fields")
	.addHelpText(
		"after",
		"\nExamples:\n  hawser audit\n  hawser audit ls --action refused\n  hawser audit ls --json -n 0",
	)
	.action(async ({ after, last, json, session, principal, action, ...flags }: ListFlags) => {
		const { client } = await findServer(flags);
		const target = session === undefined ? undefined : await sessionOf(client, session);
		const filter: AuditFilter = { session: target?.id, principal, action };
		let shown: AuditMessage[] = [];
		for (let next: number | null = after ?? 0; next !== null; ) {
			const page = await client.audit({ ...filter, after: next, limit: PAGE });
			shown = [...shown, ...page.entries].slice(last === 0 ? 0 : -last);
			next = page.next;
		}
		if (json) return print(shown.map((entry) => `${safeJson(entry, 0)}\n`).join(""));
		if (shown.length === 0 && target?.unknown) throw target.unknown;
		if (shown.length === 0) return printNotice("no matching entries");
		await print(
			table(
				["SEQ", "TIME", "WHO", "FROM", "ACTION", "WORKSPACE", "SESSION", "DETAILS"],
				shown.map(toRow),
				process.stdout.columns,
			),
		);
	});

/** The log knows deleted sessions by their full IDs; `unknown` says that the server does not know this one. */
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
	.summary("verify the audit log")
	.description(
		"Verifies the audit files, with or without a running server: no line was changed, added, moved or " +
			"removed. Lines missing at the end are detected only with --head, a hash noted earlier. Exits with 1 " +
			"if verification fails, there is nothing to verify, or entries before the noted hash are missing.",
	)
	.argument("[file]", "audit file or directory (default: the state directory's)")
	.option("--state-dir <dir>", "state directory of the server")
	.option("--head <hash>", "newest hash seen at an earlier check")
	.addHelpText(
		"after",
		"\nExamples:\n  hawser audit verify\n  hawser audit verify --head 9f86d081…  audit-000007.jsonl",
	)
	.action(async (path: string | undefined, { stateDir, head }: VerifyFlags) => {
		if (head !== undefined && !/^[0-9a-f]{64}$/.test(head))
			throw new UsageError("--head: expected a hash of 64 hex digits");
		const verdict = await verifyAudit(await auditPath(path, stateDir), head);
		const { fault, entries, base } = verdict;
		for (const text of verdict.remarks) printNotice(text);
		if (fault) {
			const where = fault.line === undefined ? fault.path : `${fault.path}, line ${fault.line}`;
			printNotice(`${where}: ${fault.message}`);
			process.exitCode = 1;
			return;
		}
		const from = base === undefined ? "" : ` (starting after entry ${base.seq})`;
		await print(`ok: ${entries} entries${from}; head ${verdict.head.seq} ${verdict.head.hash}\n`);
	});

async function auditPath(
	path: string | undefined,
	stateDir: string | undefined,
): Promise<Parameters<typeof verifyAudit>[0]> {
	if (path === undefined)
		return { directory: auditDirectory(stateDirectory(stateDir === undefined ? {} : { stateDir })) };
	const found = await stat(path).catch(() => undefined);
	if (!found) throw new UsageError(`can't read ${path}`);
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
	.summary("list or verify the audit log")
	.description("The server records who did what to which session, and from where. It never records what was typed.")
	.addHelpText("after", "\nExamples:\n  hawser audit\n  hawser audit ls --session build\n  hawser audit verify")
	.addCommand(list, { isDefault: true })
	.addCommand(verify);
