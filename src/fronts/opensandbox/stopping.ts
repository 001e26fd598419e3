/** How programs are ended here: all of a tree, at once or after a while, and how long a client waits for that. */

import type { KillOptions } from "../../core/process.ts";
import type { Session } from "../../core/session.ts";

/** How long a tree may take to go once it can't refuse; then the signal was delivered, which is enough. */
const TEARDOWN_MS = 1_000;

/** Ends the whole tree at once; resolves when nothing of it is left. */
export function killAll(session: Session, options: Pick<KillOptions, "reason" | "by"> = {}): Promise<void> {
	return session.kill({ ...options, signal: "SIGKILL" });
}

/** Asks the whole tree to end, and makes it end after the grace; resolves when nothing of it is left. */
export function interrupt(session: Session, graceMs: number): Promise<void> {
	return session.kill({ signal: "SIGTERM", graceMs });
}

/** Waits for an end that is under way, but not for a teardown that takes its time; of its failure `report` hears then. */
export async function untilDelivered(
	ending: Promise<unknown>,
	{ graceMs, report }: { readonly graceMs: number; readonly report: (error: unknown) => void },
): Promise<void> {
	let timer: NodeJS.Timeout | undefined;
	const isLate = new Promise<true>((resolve) => {
		timer = setTimeout(() => resolve(true), graceMs + TEARDOWN_MS);
	});
	try {
		if ((await Promise.race([ending, isLate])) === true) ending.catch(report);
	} finally {
		clearTimeout(timer);
	}
}
