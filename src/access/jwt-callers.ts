/** Callers authenticated by JWTs of another issuer. Each has the rights that its token names, until the token expires. */

import type { Clock } from "../core/async/clock.ts";
import { type Rate, RateLimiter } from "../core/async/rate-limit.ts";
import type { CredentialPrincipal } from "../core/policy/access.ts";
import { grants, parseScope } from "../core/policy/scope.ts";
import { type Expires, ExpiringCredentials } from "./expiring-credentials.ts";
import { type JwtClaims, type JwtRules, readJwt, splitJwt } from "./jwt.ts";
import { createRevocation, unauthenticated } from "./principal.ts";
import { digest } from "./secret-digest.ts";

type JwtBearersOptions = {
	readonly rules: JwtRules;
	readonly clock: Clock;
	/** Rate of session starts per subject, over all of its tokens. */
	readonly creationRate: Rate;
};

type Bearer = Expires & {
	readonly principal: CredentialPrincipal;
	readonly creations: RateLimiter;
};

export class JwtBearers {
	readonly #options: JwtBearersOptions;
	readonly #bearers: ExpiringCredentials<Bearer>;

	constructor(options: JwtBearersOptions) {
		this.#options = options;
		this.#bearers = new ExpiringCredentials(options.clock);
	}

	/** The caller with this credential; undefined if it is not a JWT. Throws `unauthenticated` for an invalid JWT. */
	verify(shown: string): CredentialPrincipal | undefined {
		const jwt = splitJwt(shown);
		if (!jwt) return undefined;
		const { rules, clock } = this.#options;
		let claims: JwtClaims;
		try {
			// Checked on every request: an earlier token with the same claims says nothing about this signature.
			claims = readJwt(jwt, rules, clock.now());
		} catch (error) {
			throw unauthenticated(`the JWT is not valid: ${error instanceof Error ? error.message : String(error)}`);
		}
		// The signature is left out, so that another encoding of it is not another token.
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
		const creations = others?.creations ?? new RateLimiter(creationRate, clock);
		const principal: CredentialPrincipal = {
			kind: "credential",
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
			// Open sockets check this repeatedly, so expiry counts here too.
			may: (right, place) =>
				!revocation.signal.aborted && expiresAt > clock.now() && granted.some((scope) => grants(scope, right, place)),
			revoked: revocation.signal,
			countCreation: () => creations.take(),
		};
		return { owner: subject, expiresAt, principal, creations, revocation };
	}
}

/** Converts `{"workspaces": {ID: RIGHT}}` to scopes. Invalid workspaces and rights are ignored. */
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
