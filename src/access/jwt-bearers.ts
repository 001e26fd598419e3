/** Callers whom somebody else vouches for: each valid JWT is one, with the rights that it names, until it is over. */

import type { Principal } from "../core/access.ts";
import type { Clock } from "../core/clock.ts";
import { Bucket, type Rate } from "../core/rate.ts";
import { type Expires, Expiring } from "./expiring.ts";
import { type JwtClaims, type JwtRules, readJwt, splitJwt } from "./jwt.ts";
import { createRevocation, unauthenticated } from "./principal.ts";
import { grants, parseScope } from "./scope.ts";
import { digest } from "./secret.ts";

type JwtBearersOptions = {
	readonly rules: JwtRules;
	readonly clock: Clock;
	/** How fast one subject may make sessions, whatever tokens it shows. */
	readonly creationRate: Rate;
};

type Bearer = Expires & {
	readonly principal: Principal;
	readonly creations: Bucket;
};

export class JwtBearers {
	readonly #options: JwtBearersOptions;
	readonly #bearers: Expiring<Bearer>;

	constructor(options: JwtBearersOptions) {
		this.#options = options;
		this.#bearers = new Expiring(options.clock);
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
		// Without the signature, so that another spelling of it is no other token.
		const key = digest(jwt.signed);
		return (this.#bearers.get(key) ?? this.#bearers.add(key, this.#bearer(claims))).principal;
	}

	close(): void {
		this.#bearers.close();
	}

	#bearer(claims: JwtClaims): Bearer {
		const { clock, creationRate } = this.#options;
		const { subject, expiresAt } = claims;
		const scopes = scopesOf(claims);
		const granted = scopes.map(parseScope);
		const revocation = createRevocation();
		const others = this.#bearers.all.find((other) => other.owner === subject);
		const creations = others?.creations ?? new Bucket(creationRate, clock);
		const principal: Principal = {
			id: `jwt:${subject}`,
			account: `jwt:${subject}`,
			name: `jwt:${subject}`,
			user: subject,
			isAdmin: false,
			maySeeMetrics: false,
			secrets: "type",
			makers: [],
			scopes,
			gate: null,
			expiresAt,
			// Asked again and again of an open socket, so the time counts here, too.
			may: (right, place) =>
				!revocation.signal.aborted && expiresAt > clock.now() && granted.some((scope) => grants(scope, right, place)),
			revoked: revocation.signal,
			countCreation: () => creations.take(),
		};
		return { owner: subject, expiresAt, principal, creations, revocation };
	}
}

/** `{"workspaces": {ID: RIGHT}}` as scopes. What is no workspace, or no right, gives nothing. */
function scopesOf({ workspaces }: JwtClaims): string[] {
	return Object.entries(workspaces).flatMap(([id, right]) => {
		const scope = `workspace:${id}:${right}`;
		return typeof right === "string" && isScope(scope) ? [scope] : [];
	});
}

function isScope(text: string): boolean {
	try {
		return parseScope(text) !== undefined;
	} catch {
		return false;
	}
}
