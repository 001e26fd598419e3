/** Control over HTTP: held for a time instead of for a connection, and shown by its fence. */

import Type from "typebox";
import type { Principal } from "../../core/access.ts";
import { SessionError } from "../../core/errors.ts";
import type { Lease } from "../../core/lease.ts";
import type { Session } from "../../core/session.ts";
import type { SessionLease, TakeLease } from "../../protocol/acts.ts";
import { limits } from "../../protocol/messages.ts";
import { type Hosting, onAbort } from "../front.ts";
import { releaseQuery, sessionLease, takeLease } from "./act-messages.ts";
import type { NativeApp, NativeOptions } from "./options.ts";
import { findSession, principalOf } from "./request.ts";
import { idParams } from "./session-messages.ts";

export function addLease(app: NativeApp, { sessions }: NativeOptions, hosting: Hosting): void {
	/** By session: aborted when the control that was given last over HTTP need not be given back any more. */
	const held = new Map<string, AbortController>();
	const letGo = () => {
		for (const one of held.values()) one.abort();
	};
	hosting.closing.addEventListener("abort", letGo, { once: true });

	/** For a time, and no longer than the credential is good by which it was given. */
	const hold = (session: Session, { fence }: Lease, forMs: number, { revoked }: Principal) => {
		held.get(session.id)?.abort();
		const over = new AbortController();
		held.set(session.id, over);
		const giveBack = () => {
			over.abort();
			held.delete(session.id);
			// Should this fail, the session has ended, or nobody can reach it and whoever keeps it gives control back by itself.
			session.release(fence).catch(() => {});
		};
		const timer = setTimeout(giveBack, forMs);
		over.signal.addEventListener("abort", () => clearTimeout(timer), { once: true });
		onAbort(revoked, over.signal, giveBack);
	};

	app.post(
		"/v1/sessions/:id/lease",
		{
			config: { policy: "operate", operation: "takeLease", summary: "Take control of a session for a time" },
			schema: { params: idParams, body: Type.Optional(takeLease), response: { 200: sessionLease } },
		},
		async (request): Promise<SessionLease> => {
			const session = findSession(sessions, request);
			const principal = principalOf(request);
			const wanted = request.body ?? {};
			const lease = await demand(session, principal.name, wanted);
			hold(session, lease, wanted.ttlMs ?? limits.leaseMs, principal);
			return toMessage(lease);
		},
	);

	app.delete(
		"/v1/sessions/:id/lease",
		{
			config: { policy: "operate", operation: "releaseLease", summary: "Give control of a session back" },
			schema: { params: idParams, querystring: releaseQuery, response: { 200: sessionLease } },
		},
		async (request): Promise<SessionLease> => {
			const session = findSession(sessions, request);
			const { lease } = await session.info();
			const { fence = lease.fence } = request.query;
			const isOwn = lease.holder === principalOf(request).name;
			// Whoever wants to end the control of another takes it.
			return toMessage(isOwn ? await session.release(fence) : lease);
		},
	);
}

async function demand(session: Session, holder: string, wanted: TakeLease): Promise<Lease> {
	const { exclusive = true, force = false, fence } = wanted;
	if (fence === undefined) return session.acquire(holder, { exclusive, take: force });
	const { lease } = await session.info();
	if (lease.fence === fence && lease.holder === holder) return lease;
	throw new SessionError(
		"not_writable",
		`control has changed hands: fence ${fence} is over, the current one is ${lease.fence}`,
		{
			hint: "take control again, without a fence",
		},
	);
}

function toMessage({ fence, holder, exclusive }: Lease): SessionLease {
	return { fence, holder, exclusive };
}
