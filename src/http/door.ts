/** Admission: checks the host, the origin and the credential of every request and upgrade. */

import type { Socket } from "node:net";
import type { FastifyReply, FastifyRequest } from "fastify";
import { pageKeyHeader } from "../api/page-key.ts";
import { invariant, SessionError } from "../core/errors.ts";
import type { Authorize, Credentials, Principal } from "../core/policy/access.ts";
import type { Audit } from "../core/policy/audit.ts";
import { AuditedCaller } from "../core/policy/audited-caller.ts";
import type { GateChecks } from "../core/policy/gates.ts";
import { checkStartRate } from "../core/policy/start-rate.ts";
import type { Code } from "../words/error-code.ts";
import { moveBodyToHeld } from "./bodies.ts";
import { auditedCallerOf, ticketOf } from "./caller.ts";
import type { Front, RoutePolicy } from "./front.ts";
import { localAddressOf } from "./local-address.ts";
import { isAllowedOrigin, type Origins } from "./origin.ts";
import { isUpgradable } from "./upgrade.ts";

/** Used as the address of connections without one, such as those over a Unix socket. */
const NO_ADDRESS = "";

/** Counts a failed credential from an address. Returns how many milliseconds that address must wait. */
export type CountFailedCredential = (address: string) => number;

/**
 * A request must name exactly one host. Intermediaries may have used the second of two `Host` headers, and the
 * authority of an absolute-form target (`GET http://name/path`) overrides `Host` (RFC 9112 §3.2).
 */
export function checkOneHost({ raw }: FastifyRequest): void {
	const [host = "", ...others] = raw.headersDistinct.host ?? [];
	const [, authority = host] = /^[a-z][a-z0-9+.-]*:\/\/([^/?#]*)/i.exec(raw.url ?? "") ?? [];
	if (others.length === 0 && authority.toLowerCase() === host.toLowerCase()) return;
	throw new SessionError("invalid_argument", "the request names more than one host");
}

/** Refuses host names that are not ours, against DNS rebinding. */
export function checkHost(request: FastifyRequest, hosts: ReadonlySet<string>): void {
	const name = hostName(request.headers.host ?? "");
	if (hosts.has(name)) return;
	throw new SessionError("permission_denied", `this server does not answer for the host ${JSON.stringify(name)}`, {
		hint: "add it to the allowed hosts (HAWSER_ALLOWED_HOSTS)",
	});
}

/** Refuses state-changing requests from pages of other origins, whatever credential the browser attaches. */
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
 * Used instead of `checkHost` and `checkOrigin` by servers without a token: refuses requests from web pages of other
 * origins. The browser reports the origin and site. The host must be loopback or the address that the connection
 * arrived on, because a name that resolves to us (DNS rebinding) would differ.
 */
export function checkProgram(request: FastifyRequest): void {
	const { origin, host = "", "sec-fetch-site": site } = request.headers;
	const name = hostName(host);
	const isOwnName = isLoopbackName(name) || name === localAddressOf(request.raw.socket)?.host;
	const isOwnOrigin = origin === undefined || isAllowedOrigin(origin, host, { scheme: "http:", allowed: [] });
	const isOwnSite = site === undefined || site === "same-origin" || site === "none";
	if (isOwnName && isOwnOrigin && isOwnSite) return;
	const refused = isOwnName ? "pages of other origins" : `requests for the host ${JSON.stringify(name)}`;
	throw new SessionError("permission_denied", `this server requires no token, so it refuses ${refused}`, {
		hint: "start it with --access-token, or with --allow-foreign to accept every request",
	});
}

/** Records what callers do, and holds the actions that need approval. */
export type AuditAndGates = {
	readonly audit: Audit;
	/** Omitted where no caller has a gate. */
	readonly gatekeeper: GateChecks | undefined;
};

type Admission = {
	readonly front: Front;
	readonly oversight: AuditAndGates;
	readonly authorize: Authorize;
	readonly noteFailure: CountFailedCredential | undefined;
};

/** Sets `request.principal` and `request.witness`, or throws if the policy of the route refuses the caller. */
export async function admit(request: FastifyRequest, reply: FastifyReply, admission: Admission): Promise<void> {
	const { policy, makes = false } = request.routeOptions.config;
	setAuditedCaller(request, admission.front, admission.oversight);
	if (policy === undefined) throw new Error("invariant: a request without a policy");
	if (policy === "public") return;
	const caller = callerOf(request, admission.front);
	const onWait = (waitMs: number) => retryAfter(reply, waitMs);
	request.principal = await judge(request, { caller, onWait }, admission);
	// Again, now with the principal, so that the audit can name a caller that is refused below.
	setAuditedCaller(request, admission.front, admission.oversight);
	checkPolicy(request.principal, policy);
	// Fronts that start programs over a socket count each start themselves.
	if (makes) count(request.principal, reply);
}

/** Authenticates a credential that was not sent in the request head. Failures count like those in the head. */
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

/** Checks policies that concern no session. Rights are checked once the session is known. */
function checkPolicy({ isAdmin, maySeeMetrics }: Principal, policy: RoutePolicy): void {
	if ((policy === "admin" && !isAdmin) || (policy === "metrics" && !maySeeMetrics)) {
		throw new SessionError("permission_denied", `this requires a token with the scope ${policy}`);
	}
}

type Judged = {
	readonly caller: Credentials;
	/** Called with the time for which failed credentials of this address are refused. */
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
		// An expired cookie is not an attempt to guess, and its page must learn that it has to sign in again.
		const isAttempt = caller.credential !== undefined || caller.ticket !== undefined;
		const waitMs = isFailure && isAttempt ? (noteFailure?.(request.ip ?? NO_ADDRESS) ?? 0) : 0;
		if (waitMs === 0) throw error;
		onWait(waitMs);
		throw new SessionError("limit_exceeded", "too many invalid credentials from this address", {
			hint: "wait as long as Retry-After says; a valid credential is always accepted",
		});
	}
}

/** Sets `request.witness` for the principal known so far. */
export function setAuditedCaller(
	request: FastifyRequest,
	front: Front | undefined,
	{ audit, gatekeeper }: AuditAndGates,
): void {
	// Connections over a Unix socket have no IP address.
	const by = { from: request.ip ?? "local", front: front?.name ?? "door" };
	request.witness = new AuditedCaller(audit, by, request.principal, (bearer, isLasting) => {
		if (bearer.gate === null) return null;
		invariant(gatekeeper, "a caller with a gate, but no gatekeeper");
		const gone = isLasting ? bearer.revoked : AbortSignal.any([closeOf(request.raw.socket), bearer.revoked]);
		return gatekeeper.guard(bearer, bearer.gate, { gone, onHold: () => moveBodyToHeld(request) });
	});
}

/** Close signals of connections that a caller with a gate used. Requests on one connection share a signal. */
const closes = new WeakMap<Socket, AbortSignal>();

/** Aborted when the connection closes: then the caller's held actions are withdrawn. */
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

/**
 * Records that a request was refused, unless the place that refused it did. The route is recorded without its
 * parameters, which may contain codes.
 */
export function noteRefusal(request: FastifyRequest, error: unknown): void {
	const witness = auditedCallerOf(request);
	if (witness.hasRefused || !(error instanceof SessionError) || !refusals.has(error.code)) return;
	const { method, url } = request.routeOptions;
	witness.record({ action: "refused", code: error.code, route: `${method} ${url ?? ""}`.trim() });
}

function count(principal: Principal | null, reply: FastifyReply): void {
	const waitMs = principal?.countCreation() ?? 0;
	if (waitMs > 0) retryAfter(reply, waitMs);
	checkStartRate(waitMs);
}

function callerOf(request: FastifyRequest, front: Front): Credentials {
	return {
		credential: front.credential(request),
		ticket: request.routeOptions.config.isSocket === true && isUpgradable(request) ? ticketOf(request) : undefined,
		cookies: request.headers.cookie,
		pageKey: [request.headers[pageKeyHeader]].flat()[0],
		origin: request.headers.origin,
		isSafe: isSafe(request),
		connection: request.raw.socket,
	};
}

function isSafe(request: FastifyRequest): boolean {
	return !isUpgradable(request) && ["GET", "HEAD", "OPTIONS"].includes(request.method);
}

/** The name in a `Host` header, without the port. */
function hostName(host: string): string {
	return host.toLowerCase().replace(/:\d+$/, "");
}

function isLoopbackName(name: string): boolean {
	return name === "localhost" || name === "[::1]" || /^127\.\d+\.\d+\.\d+$/.test(name);
}

function retryAfter(reply: FastifyReply, waitMs: number): void {
	reply.header("retry-after", String(Math.ceil(waitMs / 1000)));
}
