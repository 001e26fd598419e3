/**
 * The writer lease over HTTP: a caller holds it for a time instead of a connection, and sends its fence with each
 * write.
 */

import { limits } from "../../../api/messages.ts";
import type { SessionLease, TakeLease } from "../../../api/types.ts";
import { onAbort } from "../../../core/async/abort.ts";
import { SessionError } from "../../../core/errors.ts";
import type { Principal } from "../../../core/policy/access.ts";
import type { Lease } from "../../../core/session/lease.ts";
import type { Session } from "../../../core/session/session.ts";
import type { Serve } from "../serve.ts";

export function addLease(serve: Serve, closing: AbortSignal): void {
	/** By session: aborted when the lease last granted over HTTP need not be released any more. */
	const held = new Map<string, AbortController>();
	const forgetAll = () => {
		for (const one of held.values()) one.abort();
	};
	closing.addEventListener("abort", forgetAll, { once: true });

	/** Releases the lease after a time, or when the caller's credential ends. */
	const hold = (session: Session, { fence }: Lease, forMs: number, { revoked }: Principal) => {
		held.get(session.id)?.abort();
		const over = new AbortController();
		held.set(session.id, over);
		const giveBack = () => {
			over.abort();
			held.delete(session.id);
			// Fails if the session ended, or if its keeper is unreachable and releases the lease by itself.
			session.release(fence).catch(() => {});
		};
		const timer = setTimeout(giveBack, forMs);
		over.signal.addEventListener("abort", () => clearTimeout(timer), { once: true });
		onAbort(revoked, over.signal, giveBack);
	};

	serve("takeLease", async ({ session, caller, body = {} }) => {
		const lease = await take(session, caller.name, body);
		hold(session, lease, body.ttlMs ?? limits.leaseMs, caller);
		return toMessage(lease);
	});

	serve("releaseLease", async ({ session, caller, query }) => {
		const { lease } = await session.info();
		// A caller can't release another caller's lease; it can take it over.
		if (lease.holder !== caller.name) return toMessage(lease);
		return toMessage(await session.release(query.fence ?? lease.fence));
	});
}

async function take(session: Session, holder: string, wanted: TakeLease): Promise<Lease> {
	const { exclusive = true, force = false, fence } = wanted;
	if (fence === undefined) return session.acquire(holder, { exclusive, take: force });
	const { lease } = await session.info();
	if (lease.fence === fence && lease.holder === holder) return lease;
	throw new SessionError(
		"not_writable",
		`control has changed hands: fence ${fence} is no longer valid, the current one is ${lease.fence}`,
		{ hint: "take control again, without a fence" },
	);
}

function toMessage({ fence, holder, exclusive }: Lease): SessionLease {
	return { fence, holder, exclusive };
}
