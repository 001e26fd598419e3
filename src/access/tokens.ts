/** Creates, finds, revokes and expires tokens. */

import type { Clock } from "../core/async/clock.ts";
import { type Rate, RateLimiter } from "../core/async/rate-limit.ts";
import { SessionError } from "../core/errors.ts";
import type { CredentialPrincipal, Grantor, TokenInfo, TokenRequest } from "../core/policy/access.ts";
import { combineGates, type Gate } from "../core/policy/gate.ts";
import { covers, grants, parseScope, type Scope } from "../core/policy/scope.ts";
import { MAX_EXPRESSIONS } from "../words/gate-limits.ts";
import { type SecretRight, secretRights } from "../words/rights.ts";
import { createRevocation } from "./principal.ts";
import { createSecret, digest, isDigestOf, type RandomBytes } from "./secret-digest.ts";

/** A stored token. */
export type TokenRecord = TokenInfo & {
	/** Digest of the secret. */
	readonly hash: string;
};

type TokensOptions = {
	readonly clock: Clock;
	readonly randomBytes: RandomBytes;
	/** The workspace of a session, which decides who may share it. */
	readonly workspaceOf: (session: string) => string | undefined;
	readonly creationRate: Rate;
	/** Called on a token's first use. */
	readonly onFirstUse: () => void;
};

/**
 * Number of tokens, and of tokens derived over all generations from one that the operator created.
 * @limit tokens | `limit_exceeded`
 */
const MAX_TOKENS = 10_000;
/** @limit tokens made by one token, over all generations | `limit_exceeded` */
const MAX_DESCENDANTS = 100;
const MAX_SCOPES = 32;
const ID_BYTES = 6;
/**
 * Ended tokens that are remembered, newest first, to report why they are refused.
 * @limit ended tokens that are remembered for `token_ended` | `unauthenticated`
 */
const MAX_ENDED = 1_000;
/** Compared for an unknown id, so that it takes as long as a known one. */
const UNKNOWN_HASH = "0".repeat(64);
/** Defaults for fields that older files lack. */
const defaults = { opened: 0, secrets: "type", gate: null } as const;

type Entry = {
	record: TokenRecord;
	scopes: readonly Scope[];
	readonly principal: CredentialPrincipal;
	readonly revocation: AbortController;
	/** Shared by all tokens derived from one that the operator created. */
	readonly creations: RateLimiter;
};

export class Tokens {
	readonly #options: TokensOptions;
	readonly #entries = new Map<string, Entry>();
	/** Digests of ended tokens, by id. */
	readonly #ended = new Map<string, string>();

	constructor(options: TokensOptions) {
		this.#options = options;
	}

	/** Restores stored tokens. */
	restore(records: readonly TokenRecord[]): void {
		for (const record of records) this.#entries.set(record.id, this.#entry({ ...defaults, ...record }));
		this.sweep();
		// An edited file may have a token without its parent.
		for (const { record } of this.#entries.values()) {
			if (record.parent !== null && !this.#entries.has(record.parent)) this.remove(record.id);
		}
	}

	get records(): TokenRecord[] {
		return [...this.#entries.values()].map(({ record }) => record);
	}

	/** The caller with this token; undefined if it is not a valid token of this server. */
	verify(shown: string): CredentialPrincipal | undefined {
		const { id, secret } = parts(shown);
		const entry = this.#entries.get(id);
		if (!isDigestOf(entry?.record.hash ?? UNKNOWN_HASH, secret) || !entry || this.#isOver(entry)) return undefined;
		this.touch(id);
		return entry.principal;
	}

	/** Whether this was a valid token of this server that has ended. */
	wasGood(shown: string): boolean {
		const { id, secret } = parts(shown);
		const entry = this.#entries.get(id);
		const hash = entry && this.#isOver(entry) ? entry.record.hash : this.#ended.get(id);
		return isDigestOf(hash ?? UNKNOWN_HASH, secret) && hash !== undefined;
	}

	/** Counts another browser that it signed in. */
	countOpening(id: string): void {
		const entry = this.#entries.get(id);
		if (entry) entry.record = { ...entry.record, opened: entry.record.opened + 1 };
	}

	/** Records that it was used now, directly or by a browser that it signed in. */
	touch(id: string): void {
		const entry = this.#entries.get(id);
		if (!entry) return;
		const isFirst = entry.record.lastUsedAt === null;
		entry.record = { ...entry.record, lastUsedAt: this.#options.clock.now() };
		if (isFirst) this.#options.onFirstUse();
	}

	/** Whether it has expired or ended, even if it was not swept yet. */
	isOver(id: string): boolean {
		const entry = this.#entries.get(id);
		return entry !== undefined && this.#isOver(entry);
	}

	hashOf(id: string): string | undefined {
		return this.#entries.get(id)?.record.hash;
	}

	principal(id: string): CredentialPrincipal | undefined {
		return this.#entries.get(id)?.principal;
	}

	create(by: Grantor, request: TokenRequest): { secret: string; record: TokenRecord } {
		const { clock, randomBytes } = this.#options;
		const scopes = [...new Set(request.scopes)];
		if (scopes.length === 0 || scopes.length > MAX_SCOPES) {
			throw new SessionError("invalid_argument", `scopes: expected 1 to ${MAX_SCOPES}, not ${scopes.length}`);
		}
		const maker = this.#entries.get(by.id);
		if (!maker && !by.isAdmin) {
			throw new SessionError("permission_denied", "a JWT can't create tokens", {
				hint: "use a token of this server, or a JWT with fewer rights",
			});
		}
		this.#checkNarrower(by, scopes);
		checkSecrets(by, request.secrets);
		this.#checkRoom(maker);
		const now = clock.now();
		const asked = request.expiresInMs === undefined ? null : now + request.expiresInMs;
		const secret = createSecret(randomBytes);
		const record: TokenRecord = {
			id: this.#newId(),
			name: request.name ?? null,
			scopes,
			hash: digest(secret),
			createdAt: now,
			expiresAt: earlier(asked, by.expiresAt),
			lastUsedAt: null,
			parent: maker ? by.id : null,
			opened: 0,
			secrets: request.secrets ?? by.secrets,
			gate: checkedGate(combineGates(by.gate, request.gate ?? null)),
		};
		this.#entries.set(record.id, this.#entry(record));
		return { secret: `hwt_${record.id}_${secret}`, record };
	}

	/** Tokens that `by` may revoke: all for the operator; itself and its descendants for other callers and for a token with a gate. */
	visibleTo(by: Grantor): TokenRecord[] {
		if (by.isAdmin && by.gate === null) return this.records;
		return this.records.filter(({ id }) => this.#lineage(id).includes(by.id));
	}

	/** Revokes a token and its descendants; returns their ids. */
	remove(id: string): string[] {
		const ids = this.records.flatMap((record) => (this.#lineage(record.id).includes(id) ? [record.id] : []));
		const entries = ids.flatMap((one) => this.#entries.get(one) ?? []);
		for (const one of ids) this.#entries.delete(one);
		for (const { record, revocation } of entries) {
			revocation.abort();
			this.#ended.set(record.id, record.hash);
		}
		for (const one of [...this.#ended.keys()].slice(0, -MAX_ENDED)) this.#ended.delete(one);
		return ids;
	}

	/** Removes a workspace's scopes from all tokens, and revokes tokens without any other; returns the ids of those. */
	leave(workspace: string): string[] {
		const isThere = (scope: Scope) => scope.kind === "workspace" && scope.id === workspace;
		const members = [...this.#entries.values()].filter(({ scopes }) => scopes.some(isThere));
		for (const entry of members) {
			const kept = entry.record.scopes.filter((scope) => !isThere(parseScope(scope)));
			entry.record = { ...entry.record, scopes: kept };
			entry.scopes = kept.map(parseScope);
		}
		return members.flatMap(({ record }) => (record.scopes.length === 0 ? this.remove(record.id) : []));
	}

	/** When the next token expires; infinity if none does. */
	get nextEnd(): number {
		return this.records.reduce((next, { expiresAt }) => Math.min(next, expiresAt ?? next), Number.POSITIVE_INFINITY);
	}

	/** Removes expired tokens; returns their ids. */
	sweep(): string[] {
		const over = [...this.#entries.values()].filter((entry) => this.#isOver(entry));
		return over.flatMap(({ record }) => this.remove(record.id));
	}

	#entry(record: TokenRecord): Entry {
		const scopes = record.scopes.map(parseScope);
		const revocation = createRevocation();
		// Parents are stored before their children.
		const maker = this.#entries.get(record.parent ?? "");
		const creations = maker?.creations ?? new RateLimiter(this.#options.creationRate, this.#options.clock);
		const entry: Entry = {
			record,
			scopes,
			revocation,
			creations,
			principal: {
				kind: "credential",
				id: record.id,
				account: maker?.principal.account ?? record.id,
				name: record.name === null ? `token:${record.id}` : `token:${record.id}:${record.name}`,
				isAdmin: scopes.some(({ kind }) => kind === "admin"),
				maySeeMetrics: scopes.some(({ kind }) => kind === "admin" || kind === "metrics"),
				secrets: record.secrets,
				makers: maker ? [maker.record.id, ...maker.principal.makers] : [],
				get scopes() {
					return entry.record.scopes;
				},
				gate: record.gate,
				expiresAt: record.expiresAt,
				// Open sockets check this repeatedly, so expiry counts here too.
				may: (right, place) =>
					!revocation.signal.aborted &&
					!this.#isOver(entry) &&
					entry.scopes.some((scope) => grants(scope, right, place)),
				revoked: revocation.signal,
				countCreation: () => creations.take(),
			},
		};
		return entry;
	}

	#checkNarrower(by: Grantor, scopes: readonly string[]): void {
		const held = by.scopes.map(parseScope);
		for (const scope of scopes) {
			if (covers(held, parseScope(scope), this.#options.workspaceOf)) continue;
			throw new SessionError(
				"permission_denied",
				`this token may not grant the scope ${scope}, which exceeds its own rights`,
				{
					hint: "a token can create only tokens with at most its own rights",
				},
			);
		}
	}

	#checkRoom(maker: Entry | undefined): void {
		if (this.#entries.size >= MAX_TOKENS) {
			throw new SessionError("limit_exceeded", `too many tokens (limit ${MAX_TOKENS})`);
		}
		const root = maker && this.#lineage(maker.record.id).at(-1);
		if (root === undefined) return;
		const family = this.records.filter(({ id }) => this.#lineage(id).at(-1) === root);
		if (family.length <= MAX_DESCENDANTS) return;
		throw new SessionError("limit_exceeded", `too many tokens derived from this one (limit ${MAX_DESCENDANTS})`);
	}

	/** The token, its parent, and so on up to one that the operator created. */
	#lineage(id: string): string[] {
		const lineage: string[] = [];
		for (let next: string | null | undefined = id; next; next = this.#entries.get(next)?.record.parent) {
			if (lineage.includes(next)) break;
			lineage.push(next);
		}
		return lineage;
	}

	#isOver({ record }: Entry): boolean {
		return record.expiresAt !== null && record.expiresAt <= this.#options.clock.now();
	}

	#newId(): string {
		for (;;) {
			const id = Buffer.from(this.#options.randomBytes(ID_BYTES)).toString("hex");
			if (!this.#entries.has(id)) return id;
		}
	}
}

/** Splits a token into id and secret; both are empty for other text. */
function parts(shown: string): { readonly id: string; readonly secret: string } {
	const [, id = "", secret = ""] = /^hwt_([0-9a-f]{12})_([A-Za-z0-9_-]{43})$/.exec(shown) ?? [];
	return { id, secret };
}

function checkSecrets(by: Grantor, wanted: SecretRight = by.secrets): void {
	if (secretRights.indexOf(wanted) <= secretRights.indexOf(by.secrets)) return;
	throw new SessionError(
		"permission_denied",
		`this token may not grant secrets: ${wanted}; its own right is ${by.secrets}`,
		{
			hint: "a token can create only tokens with at most its own rights",
		},
	);
}

/** Combined with the creator's gate, it may have too many expressions. */
function checkedGate(gate: Gate | null): Gate | null {
	if (gate === null || gate.match.length <= MAX_EXPRESSIONS) return gate;
	throw new SessionError(
		"limit_exceeded",
		`too many gate expressions, including the creator's (limit ${MAX_EXPRESSIONS})`,
	);
}

function earlier(a: number | null, b: number | null): number | null {
	if (a === null || b === null) return a ?? b;
	return Math.min(a, b);
}
