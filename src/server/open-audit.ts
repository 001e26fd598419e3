/** The record of who did what: where a server keeps it, and what the server itself has to say in it. */

import { join } from "node:path";
import { AuditLog } from "../audit/audit-log.ts";
import { listFiles } from "../audit/files.ts";
import { type Verdict, verify } from "../audit/verify.ts";
import { systemClock } from "../backends/clock.ts";
import type { Audit } from "../core/audit.ts";
import type { Session } from "../core/session.ts";
import type { LocalSessions } from "../core/sessions.ts";
import type { Config } from "./config.ts";

export function auditDirectory(stateDir: string): string {
	return join(stateDir, "audit");
}

/** Undefined where none is kept. */
export async function openAudit(
	{ stateDir, maxAuditBytes, fsync }: Pick<Config, "stateDir" | "maxAuditBytes" | "fsync">,
	report: (problem: unknown) => void,
): Promise<AuditLog | undefined> {
	if (maxAuditBytes === 0) return undefined;
	const directory = auditDirectory(stateDir);
	return AuditLog.open({ directory, maxBytes: maxAuditBytes, fsync, clock: systemClock, report });
}

/**
 * Records how sessions end, whoever started them and wherever they live. One that ended while no server ran is told by
 * the next: that it did so after the last line of the server before shows that nobody told of it.
 */
export function recordEndings(
	sessions: LocalSessions,
	audit: Audit,
	{ startedAt, lastTime }: { readonly startedAt: number; readonly lastTime: number | undefined },
): void {
	const told = new WeakSet<Session>();
	const tell = (session: Session) => {
		const { exit, endedAt } = session.state;
		if (endedAt === null || told.has(session)) return;
		told.add(session);
		const isLate = endedAt < startedAt;
		if (isLate && (lastTime === undefined || endedAt <= lastTime)) return;
		const place = { workspace: session.spec.workspace, session: session.id };
		audit.record({ action: "end", exit, ...(isLate ? { late: true } : {}), ...place, by: null });
	};
	for (const session of sessions.list()) tell(session);
	sessions.watch(({ session }) => tell(session));
}

/** Looks at a file alone, or at all of a directory's. */
export async function verifyAudit(
	where: { readonly file: string } | { readonly directory: string },
	head: string | undefined,
): Promise<Verdict> {
	if ("file" in where) return verify([{ number: 0, path: where.file }], { isPart: true, head });
	const verdict = await verify(await listFiles(where.directory), { head });
	// Of a directory without files, there is none to name.
	return verdict.fault?.path === "" ? { ...verdict, fault: { ...verdict.fault, path: where.directory } } : verdict;
}
