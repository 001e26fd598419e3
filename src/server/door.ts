/** What every request and every upgrade passes before anything else: its host, its origin, and who makes it. */

import type { Socket } from "node:net";
import type { FastifyReply, FastifyRequest } from "fastify";
import { isAllowedOrigin, type Origins } from "../access/origin.ts";
import type { Authorize, Caller, Principal } from "../core/access.ts";
import type { Audit } from "../core/audit.ts";
import { type Code, invariant, SessionError } from "../core/errors.ts";
import type { Gatekeeper } from "../core/gatekeeper.ts";
import { Witness } from "../core/witness.ts";
import { checkCreation, type Front, type Policy, ticketOf, witnessOf } from "../fronts/front.ts";
import { localAddressOf } from "../fronts/local-address.ts";
import { pageKeyHeader } from "../protocol/page-key.ts";
import { setBodyAside } from "./bodies.ts";
import { asksForWebSocket } from "./upgrades.ts";

/** Stands for the address of a connection that has none, such as one over a Unix socket. */
const NO_ADDRESS = "";

/** Counts failed credentials by address; how long that one has to wait, in milliseconds. */
export type NoteFailure = (address: string) => number;

/** A page that made its name point at us (DNS rebinding) must not get any answer. */
export function checkHost(request: FastifyRequest, hosts: ReadonlySet<string>): void {
	// RFC 9112 §3.2: of two, others on the way may have gone by the second.
	if ((request.raw.headersDistinct.host ?? []).length > 1)
		throw new SessionError("invalid_argument", "the request names more than one host");
	const name = hostName(request.headers.host ?? "");
	if (hosts.has(name)) return;
	throw new SessionError("permission_denied", `this server does not answer for the host ${JSON.stringify(name)}`, {
		hint: "add it to the allowed hosts (HAWSER_ALLOWED_HOSTS)",
	});
}

/** A page of somebody else must not act through a browser of ours, whatever that browser has to show. */
export function checkOrigin(request: FastifyRequest, origins: Origins): void {
	const { origin, host } = request.headers;
	if (origin === undefined || isSafe(request) || isAllowedOrigin(origin, host, origins)) return;
	throw new SessionError(
		"permission_denied",
		`pages of ${JSON.stringify(origin.slice(0, 200))} may not use this server`,
		{
			hint: "add the origin to the allowed ones (HAWSER_ALLOWED_ORIGINS)",
		},
	);
}

/**
 * For a server that asks for nothing: a page of somebody else must not drive it through the browser of somebody who
 * can reach it. Browsers say where a request comes from; and to be asked for by a name, or by an address that is not
 * the one the connection came in on, is how a page looks that made its own name point at us.
 */
export function checkProgram(request: FastifyRequest): void {
	const { origin, host = "", "sec-fetch-site": site } = request.headers;
	const name = hostName(host);
	const isOwnName = isLoopbackName(name) || name === localAddressOf(request.raw.socket)?.host;
	const isOwnOrigin = origin === undefined || isAllowedOrigin(origin, host, { scheme: "http:", allowed: [] });
	const isOwnSite = site === undefined || site === "same-origin" || site === "none";
	if (isOwnName && isOwnOrigin && isOwnSite) return;
	const who = isOwnName ? "pages of others may not use it" : `it does not answer for the host ${JSON.stringify(name)}`;
	throw new SessionError("permission_denied", `this server asks for no token, so that ${who}`, {
		hint: "start it with --access-token, or with --allow-foreign to let everybody in",
	});
}

/** Who is told what callers do, and who holds what they do not do alone. */
export type Oversight = {
	readonly audit: Audit;
	/** Left out where no caller has a gate. */
	readonly gatekeeper: Gatekeeper | undefined;
};

type Admission = {
	readonly front: Front;
	readonly oversight: Oversight;
	readonly authorize: Authorize;
	readonly noteFailure: NoteFailure | undefined;
};

/** Sets `request.principal` and who is its witness, or throws what the route's policy makes of this caller. */
export async function admit(request: FastifyRequest, reply: FastifyReply, admission: Admission): Promise<void> {
	const { policy, makes = false } = request.routeOptions.config;
	witness(request, admission.front, admission.oversight);
	if (policy === undefined) throw new Error("invariant: a request without a policy");
	if (policy === "public") return;
	const caller = callerOf(request, admission.front);
	const onWait = (waitMs: number) => retryAfter(reply, waitMs);
	request.principal = await judge(request, { caller, onWait }, admission);
	// Known by now, so that the audit can say who was refused.
	witness(request, admission.front, admission.oversight);
	checkPolicy(request.principal, policy);
	// Fronts that make something over a socket count for themselves.
	if (makes) count(request.principal, reply);
}

/** Who shows a credential elsewhere than in the head of a request; it is judged, and its failures are counted, as there. */
export function identify(
	request: FastifyRequest,
	credential: string,
	admission: Pick<Admission, "authorize" | "noteFailure">,
): Promise<Principal> {
	const { origin } = request.headers;
	const nothingElse = { ticket: undefined, cookies: undefined, pageKey: undefined };
	const caller = { credential, ...nothingElse, origin, isSafe: false, connection: request.raw.socket };
	return judge(request, { caller, onWait: () => {} }, admission);
}

/** What is not about any session; a right is asked for where the session is known. */
function checkPolicy({ isAdmin, maySeeMetrics }: Principal, policy: Policy): void {
	if ((policy === "admin" && !isAdmin) || (policy === "metrics" && !maySeeMetrics)) {
		throw new SessionError("permission_denied", `this takes a token with the scope ${policy}`);
	}
}

type Judged = {
	readonly caller: Caller;
	/** Hears for how long nothing more is believed from there that is wrong. */
	readonly onWait: (waitMs: number) => void;
};

async function judge(
	request: FastifyRequest,
	{ caller, onWait }: Judged,
	{ authorize, noteFailure }: Pick<Admission, "authorize" | "noteFailure">,
): Promise<Principal> {
	try {
		return await authorize(caller);
	} catch (error) {
		const isFailure = error instanceof SessionError && error.code === "unauthenticated";
		// An old cookie is no attempt at anything, and its page must hear that it has to sign in again.
		const isAttempt = caller.credential !== undefined || caller.ticket !== undefined;
		const waitMs = isFailure && isAttempt ? (noteFailure?.(request.ip ?? NO_ADDRESS) ?? 0) : 0;
		if (waitMs === 0) throw error;
		onWait(waitMs);
		throw new SessionError("limit_exceeded", "too many credentials from this address were not valid", {
			hint: "wait as long as Retry-After says; a valid one is accepted at any time",
		});
	}
}

/** From here on what the request does is done by whoever is known by now to make it. */
export function witness(request: FastifyRequest, front: Front | undefined, { audit, gatekeeper }: Oversight): void {
	// There is no address to a Unix socket.
	const by = { from: request.ip ?? "local", front: front?.name ?? "door" };
	request.witness = new Witness(audit, by, request.principal, (bearer, isLasting) => {
		if (bearer.gate === null) return null;
		invariant(gatekeeper, "a caller with a gate, and nobody to hold what it does");
		const gone = isLasting ? bearer.revoked : AbortSignal.any([closeOf(request.raw.socket), bearer.revoked]);
		return gatekeeper.guard(bearer, bearer.gate, { gone, onHold: () => setBodyAside(request) });
	});
}

/** Of connections on which somebody with a gate came; many requests share one. */
const closes = new WeakMap<Socket, AbortSignal>();

/** Aborted when the connection is closed: what is held for who came over it is withdrawn then. */
function closeOf(connection: Socket): AbortSignal {
	const known = closes.get(connection);
	if (known) return known;
	const closed = new AbortController();
	closes.set(connection, closed.signal);
	if (connection.destroyed) closed.abort();
	else connection.once("close", () => closed.abort());
	return closed.signal;
}

const refusals: ReadonlySet<Code> = new Set(["unauthenticated", "permission_denied", "limit_exceeded"]);

/** Records that a request was refused, unless that was done where it was. Its address is left out: codes stand there. */
export function noteRefusal(request: FastifyRequest, error: unknown): void {
	const witness = witnessOf(request);
	if (witness.hasRefused || !(error instanceof SessionError) || !refusals.has(error.code)) return;
	const { method, url } = request.routeOptions;
	witness.record({ action: "refused", code: error.code, route: `${method} ${url ?? ""}`.trim() });
}

function count(principal: Principal | null, reply: FastifyReply): void {
	const waitMs = principal?.countCreation() ?? 0;
	if (waitMs > 0) retryAfter(reply, waitMs);
	checkCreation(waitMs);
}

function callerOf(request: FastifyRequest, front: Front): Caller {
	return {
		credential: front.credential(request),
		ticket: isUpgrade(request) ? ticketOf(request) : undefined,
		cookies: request.headers.cookie,
		pageKey: [request.headers[pageKeyHeader]].flat()[0],
		origin: request.headers.origin,
		isSafe: isSafe(request),
		connection: request.raw.socket,
	};
}

function isSafe(request: FastifyRequest): boolean {
	return !isUpgrade(request) && ["GET", "HEAD", "OPTIONS"].includes(request.method);
}

/** Of a `Host` header, without its port. */
function hostName(host: string): string {
	return host.toLowerCase().replace(/:\d+$/, "");
}

function isLoopbackName(name: string): boolean {
	return name === "localhost" || name === "[::1]" || /^127\.\d+\.\d+\.\d+$/.test(name);
}

export function isUpgrade(request: FastifyRequest): boolean {
	return asksForWebSocket(request.headers);
}

function retryAfter(reply: FastifyReply, waitMs: number): void {
	reply.header("retry-after", String(Math.ceil(waitMs / 1000)));
}
