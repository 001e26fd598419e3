/** Control over HTTP: held for a time instead of for a connection, and shown by its fence. */

import Type from "typebox";
import { SessionError } from "../../core/errors.ts";
import type { Lease, Session } from "../../core/session.ts";
import { limits, type SessionLease, type TakeLease } from "../../protocol/messages.ts";
import type { Hosting } from "../front.ts";
import { idParams, releaseQuery, sessionLease, takeLease } from "./messages.ts";
import type { NativeApp, NativeOptions } from "./options.ts";
import { findSession, principalOf } from "./request.ts";

export function addLease(app: NativeApp, { sessions }: NativeOptions, hosting: Hosting): void {
	/** By session: when the control that was given last over HTTP is to be given back. */
	const ends = new Map<string, NodeJS.Timeout>();
	hosting.closing.addEventListener("abort", () => [...ends.values()].forEach(clearTimeout), { once: true });

	const hold = (session: Session, { fence }: Lease, forMs: number) => {
		clearTimeout(ends.get(session.id));
		const timer = setTimeout(() => {
			ends.delete(session.id);
			// Should this fail, the session has ended, or nobody can reach it and whoever keeps it gives control back by itself.
			session.release(fence).catch(() => {});
		}, forMs);
		ends.set(session.id, timer);
	};

	app.post(
		"/v1/sessions/:id/lease",
		{
			config: { policy: "operate", operation: "takeLease", summary: "Take control of a session for a time" },
			schema: { params: idParams, body: Type.Optional(takeLease), response: { 200: sessionLease } },
		},
		async (request): Promise<SessionLease> => {
			const session = findSession(sessions, request);
			const { name } = principalOf(request);
			const wanted = request.body ?? {};
			const lease = await demand(session, name, wanted);
			hold(session, lease, wanted.ttlMs ?? limits.leaseMs);
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
