/** Callers, as tokens make them. Every credential of a token is worth what the token is, or less. */

import { setMaxListeners } from "node:events";
import type { Principal, Right } from "../core/access.ts";
import { SessionError } from "../core/errors.ts";
import { holds, sessionScope } from "./scope.ts";

/** For who shows nothing, or nothing that is good. */
export function unauthenticated(message: string): SessionError {
	return new SessionError("unauthenticated", message, {
		hint: "send it as Authorization: Bearer TOKEN; the server keeps it in its state directory, in admin-token",
	});
}

/** Ends what hangs on a credential. */
export function createRevocation(parent?: AbortSignal): AbortController {
	const controller = new AbortController();
	// Every open socket listens to it, so that many are no sign of a leak.
	setMaxListeners(0, controller.signal);
	if (parent?.aborted) controller.abort();
	// The listener is removed when the child ends first, so that a long life does not collect them.
	parent?.addEventListener("abort", () => controller.abort(), { once: true, signal: controller.signal });
	return controller;
}

/** The same caller, whose credential can be ended alone. */
export function withRevocation(owner: Principal, revoked: AbortSignal): Principal {
	return {
		id: owner.id,
		account: owner.account,
		name: owner.name,
		...(owner.user === undefined ? {} : { user: owner.user }),
		isAdmin: owner.isAdmin,
		maySeeMetrics: owner.maySeeMetrics,
		secrets: owner.secrets,
		makers: owner.makers,
		get scopes() {
			return owner.scopes;
		},
		gate: owner.gate,
		expiresAt: owner.expiresAt,
		may: (right, place) => owner.may(right, place),
		revoked,
		countCreation: () => owner.countCreation(),
	};
}

/** The same caller, for one session and up to one right. */
export function narrowed(owner: Principal, session: string, upTo: Right): Principal {
	return {
		...withRevocation(owner, owner.revoked),
		isAdmin: false,
		maySeeMetrics: false,
		scopes: [sessionScope(session, upTo)],
		may: (right, place) => place.session === session && holds(upTo, right) && owner.may(right, place),
	};
}
