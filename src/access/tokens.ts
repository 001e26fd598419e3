/** The tokens there are: made, found by what is shown, revoked and forgotten when they are over. */

import { type Principal, type SecretRight, secretRights, type TokenInfo, type TokenRequest } from "../core/access.ts";
import type { Clock } from "../core/clock.ts";
import { SessionError } from "../core/errors.ts";
import { both, type Gate, MAX_EXPRESSIONS } from "../core/gate.ts";
import { Bucket, type Rate } from "../core/rate.ts";
import { createRevocation } from "./principal.ts";
import { covers, grants, parseScope, type Scope } from "./scope.ts";
import { createSecret, digest, isDigestOf, type RandomBytes } from "./secret.ts";

/** A token as it is stored. */
export type TokenRecord = TokenInfo & {
	/** Of the secret. */
	readonly hash: string;
};

type TokensOptions = {
	readonly clock: Clock;
	readonly randomBytes: RandomBytes;
	/** Where a session is, to know who may share it. */
	readonly workspaceOf: (session: string) => string | undefined;
	readonly creationRate: Rate;
	/** Called when a token is used for the first time. */
	readonly onFirstUse: () => void;
};

/** How many there may be, and how many may come, over all generations, from one that the operator made. */
const MAX_TOKENS = 10_000;
const MAX_DESCENDANTS = 100;
const MAX_SCOPES = 32;
const ID_BYTES = 6;
/** How many that have ended are remembered, so that whoever still has one hears why it is no good: the newest. */
const MAX_ENDED = 1_000;
/** Compared with when there is nothing to compare with, so that an unknown id takes as long as a known one. */
const NOBODY = "0".repeat(64);
/** What older files do not say. */
const unsaid = { opened: 0, secrets: "type", gate: null } as const;

type Entry = {
	record: TokenRecord;
	scopes: readonly Scope[];
	readonly principal: Principal;
	readonly revocation: AbortController;
	/** Shared by all that came from one that the operator made. */
	readonly creations: Bucket;
};

export class Tokens {
	readonly #options: TokensOptions;
	readonly #entries = new Map<string, Entry>();
	/** The digests of those that have ended, by id. */
	readonly #ended = new Map<string, string>();

	constructor(options: TokensOptions) {
		this.#options = options;
	}

	/** Takes in what was stored. */
	restore(records: readonly TokenRecord[]): void {
		for (const record of records) this.#entries.set(record.id, this.#entry({ ...unsaid, ...record }));
		this.sweep();
		// Whoever edits the file may leave a token without the one that made it.
		for (const { record } of this.#entries.values()) {
			if (record.parent !== null && !this.#entries.has(record.parent)) this.remove(record.id);
		}
	}

	get records(): TokenRecord[] {
		return [...this.#entries.values()].map(({ record }) => record);
	}

	/** The caller who shows this; undefined if it is no token of ours, or none any more. */
	verify(shown: string): Principal | undefined {
		const { id, secret } = parts(shown);
		const entry = this.#entries.get(id);
		if (!isDigestOf(entry?.record.hash ?? NOBODY, secret) || !entry || this.#isOver(entry)) return undefined;
		this.touch(id);
		return entry.principal;
	}

	/** Whether this was a token of ours, and has ended. */
	wasGood(shown: string): boolean {
		const { id, secret } = parts(shown);
		const entry = this.#entries.get(id);
		const hash = entry && this.#isOver(entry) ? entry.record.hash : this.#ended.get(id);
		return isDigestOf(hash ?? NOBODY, secret) && hash !== undefined;
	}

	/** Notes that it has signed in one more browser. */
	countOpening(id: string): void {
		const entry = this.#entries.get(id);
		if (entry) entry.record = { ...entry.record, opened: entry.record.opened + 1 };
	}

	/** Notes that it was used just now, by itself or by a browser that came from it. */
	touch(id: string): void {
		const entry = this.#entries.get(id);
		if (!entry) return;
		const isFirst = entry.record.lastUsedAt === null;
		entry.record = { ...entry.record, lastUsedAt: this.#options.clock.now() };
		if (isFirst) this.#options.onFirstUse();
	}

	/** Whether it has come to its end, though it may not have been swept away yet. */
	isOver(id: string): boolean {
		const entry = this.#entries.get(id);
		return entry !== undefined && this.#isOver(entry);
	}

	hashOf(id: string): string | undefined {
		return this.#entries.get(id)?.record.hash;
	}

	principal(id: string): Principal | undefined {
		return this.#entries.get(id)?.principal;
	}

	create(by: Principal, request: TokenRequest): { secret: string; record: TokenRecord } {
		const { clock, randomBytes } = this.#options;
		const scopes = [...new Set(request.scopes)];
		if (scopes.length === 0 || scopes.length > MAX_SCOPES) {
			throw new SessionError("invalid_argument", `scopes: from 1 to ${MAX_SCOPES} are needed, not ${scopes.length}`);
		}
		const maker = this.#entries.get(by.id);
		this.#checkNarrower(by, maker, scopes);
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
			expiresAt: earlier(asked, maker?.record.expiresAt ?? null),
			lastUsedAt: null,
			parent: maker ? by.id : null,
			opened: 0,
			secrets: request.secrets ?? by.secrets,
			gate: checkedGate(both(maker?.record.gate ?? null, request.gate ?? null)),
		};
		this.#entries.set(record.id, this.#entry(record));
		return { secret: `hwt_${record.id}_${secret}`, record };
	}

	/** Those that `by` may revoke: all for the operator, itself and what came from it for anybody else. */
	visibleTo(by: Principal): TokenRecord[] {
		if (by.isAdmin) return this.records;
		return this.records.filter(({ id }) => this.#lineage(id).includes(by.id));
	}

	/** Ends a token and all that came from it; their ids. */
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

	/** Takes what they may do in a workspace from all of them, and ends those that may do nothing else; their ids. */
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

	/** When the next one is over; infinity if none ever is. */
	get nextEnd(): number {
		return this.records.reduce((next, { expiresAt }) => Math.min(next, expiresAt ?? next), Number.POSITIVE_INFINITY);
	}

	/** Ends those that are over; their ids. */
	sweep(): string[] {
		const over = [...this.#entries.values()].filter((entry) => this.#isOver(entry));
		return over.flatMap(({ record }) => this.remove(record.id));
	}

	#entry(record: TokenRecord): Entry {
		const scopes = record.scopes.map(parseScope);
		const revocation = createRevocation();
		// There before it: makers are stored before what they made.
		const maker = this.#entries.get(record.parent ?? "");
		const creations = maker?.creations ?? new Bucket(this.#options.creationRate, this.#options.clock);
		const entry: Entry = {
			record,
			scopes,
			revocation,
			creations,
			principal: {
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
				// Asked again and again of an open socket, so the time counts here, too.
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

	#checkNarrower(by: Principal, maker: Entry | undefined, scopes: readonly string[]): void {
		if (!maker && !by.isAdmin) {
			throw new SessionError("permission_denied", "a JWT can't make tokens", {
				hint: "show a token of this server; or have a JWT signed that may do just what is needed",
			});
		}
		const held: readonly Scope[] = maker?.scopes ?? [{ kind: "admin" }];
		for (const scope of scopes) {
			if (covers(held, parseScope(scope), this.#options.workspaceOf)) continue;
			throw new SessionError("permission_denied", `this token may not give the scope ${scope}, because it has less`, {
				hint: "a token makes only tokens that may do no more than itself",
			});
		}
	}

	#checkRoom(maker: Entry | undefined): void {
		if (this.#entries.size >= MAX_TOKENS) {
			throw new SessionError("limit_exceeded", `there are ${MAX_TOKENS} tokens, which is all there may be`);
		}
		const root = maker && this.#lineage(maker.record.id).at(-1);
		if (root === undefined) return;
		const family = this.records.filter(({ id }) => this.#lineage(id).at(-1) === root);
		if (family.length <= MAX_DESCENDANTS) return;
		throw new SessionError("limit_exceeded", `${MAX_DESCENDANTS} tokens came from this one, which is all it may make`);
	}

	/** The token, the one that made it, the one that made that, up to the one that the operator made. */
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

/** Of what is shown as a token; empty for what is none. */
function parts(shown: string): { readonly id: string; readonly secret: string } {
	const [, id = "", secret = ""] = /^hwt_([0-9a-f]{12})_([A-Za-z0-9_-]{43})$/.exec(shown) ?? [];
	return { id, secret };
}

function checkSecrets(by: Principal, wanted: SecretRight = by.secrets): void {
	if (secretRights.indexOf(wanted) <= secretRights.indexOf(by.secrets)) return;
	throw new SessionError(
		"permission_denied",
		`this token may not give secrets: ${wanted}, because its own is ${by.secrets}`,
		{
			hint: "a token makes only tokens that may do no more than itself",
		},
	);
}

/** With what came from its maker it may have become too much. */
function checkedGate(gate: Gate | null): Gate | null {
	if (gate === null || gate.match.length <= MAX_EXPRESSIONS) return gate;
	throw new SessionError(
		"limit_exceeded",
		`a gate has at most ${MAX_EXPRESSIONS} expressions, with those of its maker`,
	);
}

function earlier(a: number | null, b: number | null): number | null {
	if (a === null || b === null) return a ?? b;
	return Math.min(a, b);
}
