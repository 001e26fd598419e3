/** Callers whom somebody else vouches for: each valid JWT is one, with the rights that it names, until it is over. */

import type { Principal } from "../core/access.ts";
import type { Clock } from "../core/clock.ts";
import { SessionError } from "../core/errors.ts";
import { Bucket, type Rate } from "../core/rate.ts";
import { type JwtClaims, type JwtRules, readJwt, splitJwt } from "./jwt.ts";
import { createRevocation, unauthenticated } from "./principal.ts";
import { grants, parseScope, type Scope } from "./scope.ts";
import { digest } from "./secret.ts";

export type JwtBearersOptions = {
	readonly rules: JwtRules;
	readonly clock: Clock;
	/** How fast one subject may make sessions, whatever tokens it shows. */
	readonly creationRate: Rate;
};

/** How many valid ones may be in use at a time; only who signs them can make so many. */
const MAX_BEARERS = 10_000;
/** How often what is over is looked for at the latest: the clock may have been set. */
const SWEEP_MS = 60_000;
const MIN_SWEEP_MS = 1;

type Bearer = {
	readonly claims: JwtClaims;
	readonly principal: Principal;
	readonly creations: Bucket;
	readonly revocation: AbortController;
};

export class JwtBearers {
	readonly #options: JwtBearersOptions;
	/** By the digest of what is signed, so that another spelling of a signature is no other token. */
	readonly #bearers = new Map<string, Bearer>();
	#cancelSweep: () => void = () => {};

	constructor(options: JwtBearersOptions) {
		this.#options = options;
	}

	/** The caller who shows this; undefined for what is no JWT, and `unauthenticated` for one that is not good. */
	verify(shown: string): Principal | undefined {
		const jwt = splitJwt(shown);
		if (!jwt) return undefined;
		const { rules, clock } = this.#options;
		let claims: JwtClaims;
		try {
			// Each time anew: that the same was good before says nothing about this signature.
			claims = readJwt(jwt, rules, clock.now());
		} catch (error) {
			throw unauthenticated(`the JWT is not valid: ${error instanceof Error ? error.message : String(error)}`);
		}
		const key = digest(jwt.signed);
		return (this.#bearers.get(key) ?? this.#add(key, claims)).principal;
	}

	close(): void {
		this.#cancelSweep();
	}

	#add(key: string, claims: JwtClaims): Bearer {
		this.#sweep();
		if (this.#bearers.size >= MAX_BEARERS) {
			throw new SessionError("limit_exceeded", `${MAX_BEARERS} JWTs are in use, which is all there may be`);
		}
		const bearer = this.#bearer(claims);
		this.#bearers.set(key, bearer);
		this.#sweepLater();
		return bearer;
	}

	#bearer(claims: JwtClaims): Bearer {
		const { clock, creationRate } = this.#options;
		const { subject, expiresAt } = claims;
		const scopes = scopesOf(claims);
		const revocation = createRevocation();
		const others = [...this.#bearers.values()].find((other) => other.claims.subject === subject);
		const creations = others?.creations ?? new Bucket(creationRate, clock);
		const principal: Principal = {
			id: `jwt:${subject}`,
			name: `jwt:${subject}`,
			user: subject,
			isAdmin: false,
			// Asked again and again of an open socket, so the time counts here, too.
			may: (right, place) =>
				!revocation.signal.aborted && expiresAt > clock.now() && scopes.some((scope) => grants(scope, right, place)),
			revoked: revocation.signal,
			countCreation: () => creations.take(),
		};
		return { claims, principal, creations, revocation };
	}

	/** At the next end, so that what it has open ends with it. */
	#sweepLater(): void {
		const { clock } = this.#options;
		this.#cancelSweep();
		if (this.#bearers.size === 0) return;
		const ends = [...this.#bearers.values()].map(({ claims }) => claims.expiresAt);
		const next = ends.reduce((earliest, end) => Math.min(earliest, end), Number.POSITIVE_INFINITY) - clock.now();
		this.#cancelSweep = clock.after(Math.max(MIN_SWEEP_MS, Math.min(SWEEP_MS, next)), () => {
			this.#sweep();
			this.#sweepLater();
		});
	}

	#sweep(): void {
		const now = this.#options.clock.now();
		for (const [key, { claims, revocation }] of this.#bearers) {
			if (claims.expiresAt > now) continue;
			this.#bearers.delete(key);
			revocation.abort();
		}
	}
}

/** `{"workspaces": {ID: RIGHT}}` as scopes. What is no workspace, or no right, gives nothing. */
function scopesOf({ workspaces }: JwtClaims): Scope[] {
	return Object.entries(workspaces).flatMap(([id, right]) => {
		try {
			return typeof right === "string" ? [parseScope(`workspace:${id}:${right}`)] : [];
		} catch {
			return [];
		}
	});
}
