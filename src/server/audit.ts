/** The audit log of a server: its directory, and the entries written by the server itself. */

import { join } from "node:path";
import { listFiles } from "../audit/audit-files.ts";
import { AuditLog } from "../audit/audit-log.ts";
import { type Verification, verify } from "../audit/verify.ts";
import { systemClock } from "../backends/system-clock.ts";
import type { Audit } from "../core/policy/audit.ts";
import type { Session } from "../core/session/session.ts";
import type { SessionRegistry } from "../core/session/session-registry.ts";
import type { Config } from "./config.ts";

export function auditDirectory(stateDir: string): string {
	return join(stateDir, "audit");
}

/** Undefined if no audit is kept. */
export async function openAudit(
	{ stateDir, maxAuditBytes, fsync }: Pick<Config, "stateDir" | "maxAuditBytes" | "fsync">,
	report: (problem: unknown) => void,
): Promise<AuditLog | undefined> {
	if (maxAuditBytes === 0) return undefined;
	const directory = auditDirectory(stateDir);
	return AuditLog.open({ directory, maxBytes: maxAuditBytes, fsync, clock: systemClock, report });
}

/**
 * Records how sessions end, wherever they run. If a session ended while no server ran, the next server records it: its
 * end is later than the last entry of the previous server.
 */
export function recordEndings(
	sessions: SessionRegistry,
	audit: Audit,
	{ startedAt, lastTime }: { readonly startedAt: number; readonly lastTime: number | undefined },
): void {
	const recorded = new WeakSet<Session>();
	const record = (session: Session) => {
		const { exit, endedAt } = session.state;
		if (endedAt === null || recorded.has(session)) return;
		recorded.add(session);
		const isLate = endedAt < startedAt;
		if (isLate && (lastTime === undefined || endedAt <= lastTime)) return;
		const place = { workspace: session.spec.workspace, session: session.id };
		audit.record({ action: "end", exit, ...(isLate ? { late: true } : {}), ...place, by: null });
	};
	for (const session of sessions.list()) record(session);
	sessions.watch(({ session }) => record(session));
}

/** Verifies a single file, or all files of a directory. */
export async function verifyAudit(
	where: { readonly file: string } | { readonly directory: string },
	head: string | undefined,
): Promise<Verification> {
	if ("file" in where) return verify([{ number: 0, path: where.file }], { isPart: true, head });
	const verdict = await verify(await listFiles(where.directory), { head });
	// If the directory has no files, the fault names the directory.
	return verdict.fault?.path === "" ? { ...verdict, fault: { ...verdict.fault, path: where.directory } } : verdict;
}
