/** Callers derived from tokens. A credential derived from a token never has more rights than the token. */

import { setMaxListeners } from "node:events";
import { SessionError } from "../core/errors.ts";
import type { BrowserPrincipal, CredentialPrincipal, Grantor, TicketPrincipal } from "../core/policy/access.ts";
import { holds, sessionScope } from "../core/policy/scope.ts";
import type { Right } from "../words/rights.ts";

/** The error for missing or invalid credentials. */
export function unauthenticated(message: string): SessionError {
	return new SessionError("unauthenticated", message, {
		hint: "send it as Authorization: Bearer TOKEN; the server keeps it in its state directory, in admin-token",
	});
}

/** Creates a signal that ends everything opened with a credential. */
export function createRevocation(parent?: AbortSignal): AbortController {
	const controller = new AbortController();
	// Each open socket adds a listener, so a high count is not a leak.
	setMaxListeners(0, controller.signal);
	if (parent?.aborted) controller.abort();
	// The listener is removed when the child aborts first, so that a long-lived parent does not accumulate listeners.
	parent?.addEventListener("abort", () => controller.abort(), { once: true, signal: controller.signal });
	return controller;
}

/** A browser with the rights of `owner`. It can be signed out on its own. */
export function browserPrincipal(owner: CredentialPrincipal, revoked: AbortSignal): BrowserPrincipal {
	return {
		kind: "browser",
		credential: owner,
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

/** The ticket `id`: for one session, up to one right, and never with more rights than its creator. */
export function ticketPrincipal(owner: Grantor, id: string, session: string, upTo: Right): TicketPrincipal {
	return {
		kind: "ticket",
		id: `ticket:${id}`,
		account: owner.account,
		name: `ticket:${id}:${owner.name}`,
		...(owner.user === undefined ? {} : { user: owner.user }),
		isAdmin: false,
		maySeeMetrics: false,
		secrets: owner.secrets,
		makers: [owner.id, ...owner.makers],
		scopes: [sessionScope(session, upTo)],
		gate: owner.gate,
		expiresAt: owner.expiresAt,
		may: (right, place) => place.session === session && holds(upTo, right) && owner.may(right, place),
		revoked: owner.revoked,
		countCreation: () => owner.countCreation(),
	};
}

/** The credential that new tokens derive from. For a browser it is the one that signed it in, so that signing out ends nothing else. */
export function credentialOf(by: Grantor): CredentialPrincipal {
	return by.kind === "browser" ? by.credential : by;
}
