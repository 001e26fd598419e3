/** Who may come in to one server: tokens for programs, cookies for browsers, tickets for their sockets. */

import type {
	Access,
	Caller,
	Durability,
	Principal,
	Right,
	SignedIn,
	SignedOut,
	TokenInfo,
	TokenRequest,
	Verify,
} from "../core/access.ts";
import type { Clock } from "../core/clock.ts";
import { SessionError } from "../core/errors.ts";
import { Bucket, type Rate } from "../core/rate.ts";
import { AccessFile, type Stored } from "./access-file.ts";
import { Browsers, COOKIE_LIFETIME_MS } from "./browsers.ts";
import { type Cookie, readCookie, setCookie } from "./cookie.ts";
import { OneTime } from "./one-time.ts";
import { createRevocation, narrowed, unauthenticated } from "./principal.ts";
import { createSecret, digest, isDigestOf, type RandomBytes, sign } from "./secret.ts";
import { type TokenRecord, Tokens } from "./tokens.ts";

export type AccessOptions = {
	/** The operator's own, which is kept elsewhere. */
	readonly adminToken: string;
	/** Where tokens are kept. */
	readonly file: string;
	/** Replaces a file so that a crash leaves the old one or the new one, readable for its owner alone. */
	readonly write: (path: string, text: string) => Promise<void>;
	readonly clock: Clock;
	readonly randomBytes: RandomBytes;
	/** Whether browsers reach us over TLS. */
	readonly isSecure: boolean;
	/** Where a session is, to know who may share it. */
	readonly workspaceOf: (session: string) => string | undefined;
	/** How fast one caller may make sessions. */
	readonly creationRate: Rate;
	/** Is asked about credentials that are none of ours. */
	readonly verify?: Verify;
	/** Hears of what concerns no caller: a file that can't be written. */
	readonly report: (problem: unknown) => void;
};

const ADMIN = "admin";
/** Enough to tell the servers of one host apart. */
const SERVER_DIGITS = 8;
const TICKET_MS = 30_000;
const SIGN_IN_MS = 5 * 60_000;
/** How often what is over is looked for at the latest, and how often it is noted who was here. */
const SWEEP_MS = 60_000;
/** Between two looks, whatever the clock says. */
const MIN_SWEEP_MS = 1;
/** How often a disk that did not take a revocation is asked again. */
const RETRY_MS = 1_000;

type Ticket = { readonly owner: Principal; readonly principal: Principal; readonly origin: string | undefined };

export class LocalAccess implements Access {
	/** Who `adminToken` stands for. It has no end as long as this server runs. */
	readonly admin: Principal;
	readonly #options: AccessOptions;
	readonly #adminHash: string;
	readonly #cookie: Cookie;
	/** Signs for tokens that are not there, so that nobody learns that they are not. */
	readonly #nobodysHash: string;
	readonly #file: AccessFile;
	readonly #tokens: Tokens;
	readonly #browsers: Browsers;
	readonly #tickets: OneTime<Ticket>;
	readonly #codes: OneTime<Principal>;
	/** Tokens that were revoked and may still be on disk, and who revoked them. */
	readonly #unwritten = new Map<string, string>();
	/** Whether the file is known to lack something. */
	#isUnsaved = false;
	#cancelSweep: () => void = () => {};
	#cancelRetry: () => void = () => {};
	#lastUse = 0;

	/** With what was stored before. */
	static async open(options: AccessOptions): Promise<LocalAccess> {
		const access = new LocalAccess(options);
		const stored = await access.#file.read();
		if (stored) access.#restore(stored);
		access.#sweepLater();
		return access;
	}

	private constructor(options: AccessOptions) {
		const { clock, randomBytes, creationRate } = options;
		const creations = new Bucket(creationRate, clock);
		this.#options = options;
		this.#adminHash = digest(options.adminToken);
		this.#cookie = { server: digest(this.#adminHash).slice(0, SERVER_DIGITS), isSecure: options.isSecure };
		this.#nobodysHash = digest(createSecret(randomBytes));
		this.#file = new AccessFile(options.file, options.write);
		this.#tokens = new Tokens({
			...options,
			// At once, and not only with the next sweep: after a crash it must not pass for one that was never used.
			onFirstUse: () => void this.#save().catch(options.report),
		});
		this.#browsers = new Browsers(options);
		this.#tickets = new OneTime({ what: "tickets", lifetimeMs: TICKET_MS, clock, randomBytes });
		this.#codes = new OneTime({ what: "sign-in links", lifetimeMs: SIGN_IN_MS, clock, randomBytes });
		this.admin = {
			id: ADMIN,
			account: ADMIN,
			name: ADMIN,
			isAdmin: true,
			maySeeMetrics: true,
			secrets: "type",
			makers: [],
			scopes: [ADMIN],
			gate: null,
			expiresAt: null,
			may: () => true,
			revoked: createRevocation().signal,
			countCreation: () => creations.take(),
		};
	}

	/** Whether browsers reach us over TLS. */
	get isSecure(): boolean {
		return this.#options.isSecure;
	}

	/** The caller, if what is shown is good; a ticket is used up by this. */
	authorize({ credential, ticket, cookies, pageKey, origin, isSafe }: Caller): Principal {
		if (credential !== undefined) {
			// Both are always looked at, so that the time says nothing about which it might have been.
			const isAdmin = isDigestOf(this.#adminHash, credential) && this.#options.adminToken !== "";
			const principal = this.#tokens.verify(credential) ?? (isAdmin ? this.admin : undefined);
			return principal ?? this.#options.verify?.(credential) ?? refuse("the token is not valid");
		}
		if (ticket !== undefined) return this.#redeem(ticket, origin) ?? refuse("the ticket is not valid any more");
		const value = readCookie(cookies, this.#cookie);
		if (value === undefined) return refuse("a token is required");
		if (pageKey === undefined) return refuse("a cookie without the page key of this browser is not enough");
		// A browser sends cookies by itself; that it was a page of ours that wanted it, only the origin says.
		if (!isSafe && origin === undefined) return refuse("a cookie without an Origin header is not enough for this");
		const principal = this.#browsers.find(value, pageKey);
		if (!principal || !this.#isLive(principal)) return refuse("this browser is not signed in any more");
		this.#tokens.touch(principal.id);
		return principal;
	}

	async createToken(by: Principal, request: TokenRequest): Promise<{ secret: string; token: TokenInfo }> {
		const { secret, record } = this.#tokens.create(by, request);
		try {
			await this.#save();
		} catch (error) {
			this.#tokens.remove(record.id);
			throw error;
		}
		this.#sweepLater();
		return { secret, token: withoutHash(record) };
	}

	listTokens(by: Principal): TokenInfo[] {
		return this.#tokens.visibleTo(by).map(withoutHash);
	}

	async revokeToken(by: Principal, id: string): Promise<Durability> {
		if (id === ADMIN && by.isAdmin) {
			throw new SessionError("permission_denied", "the operator's own token can't be revoked here", {
				hint: "remove admin-token from the state directory and start the server again, which makes a new one",
			});
		}
		const isThere = this.#tokens.visibleTo(by).some((record) => record.id === id);
		const isUnwritten = this.#unwritten.has(id) && (by.isAdmin || this.#unwritten.get(id) === by.id);
		if (!isThere && !isUnwritten) {
			throw new SessionError("not_found", `there is no token ${JSON.stringify(id.slice(0, 64))}`);
		}
		// In force before it is on disk: whoever revokes a token is in a hurry.
		for (const gone of this.#tokens.remove(id)) this.#unwritten.set(gone, by.id);
		this.#browsers.sweep();
		return this.#saveInTheEnd();
	}

	async leaveWorkspace(by: Principal, workspace: string): Promise<readonly string[]> {
		const ended = this.#tokens.leave(workspace);
		for (const id of ended) this.#unwritten.set(id, by.id);
		this.#browsers.sweep();
		await this.#saveInTheEnd();
		return ended;
	}

	prove(token: string, text: string): string {
		return sign((token === ADMIN ? this.#adminHash : this.#tokens.hashOf(token)) ?? this.#nobodysHash, text);
	}

	createTicket(
		by: Principal,
		request: { readonly session: string; readonly right: Right; readonly origin: string | undefined },
	): { ticket: string; expiresAt: number } {
		const principal = narrowed(by, request.session, request.right);
		const { secret, expiresAt } = this.#tickets.issue(by.account, { owner: by, principal, origin: request.origin });
		return { ticket: secret, expiresAt };
	}

	createSignInCode(by: Principal): { code: string; expiresAt: number } {
		const { secret, expiresAt } = this.#codes.issue(by.account, this.#owner(by.id) ?? by);
		return { code: secret, expiresAt };
	}

	signInOwner(code: string): Principal | undefined {
		const owner = this.#codes.find(code);
		return owner && this.#isLive(owner) ? owner : undefined;
	}

	async signIn(code: string): Promise<SignedIn | undefined> {
		const owner = this.#codes.redeem(code);
		return owner && this.#isLive(owner) ? this.signInAs(owner) : undefined;
	}

	async signInAs(by: Principal): Promise<SignedIn> {
		const owner = this.#owner(by.id) ?? by;
		const { value, pageKey } = this.#browsers.add(owner);
		this.#tokens.countOpening(owner.id);
		await this.#save();
		return { cookie: setCookie(value, { maxAgeMs: COOKIE_LIFETIME_MS, ...this.#cookie }), pageKey, owner };
	}

	wasGood(credential: string): boolean {
		return this.#tokens.wasGood(credential);
	}

	async signOut(cookies: string | undefined): Promise<SignedOut> {
		const value = readCookie(cookies, this.#cookie);
		const owner = value === undefined ? undefined : this.#browsers.remove(value);
		const { isDurable } = owner || this.#isUnsaved ? await this.#saveInTheEnd() : { isDurable: true };
		return { cookie: setCookie("", { maxAgeMs: 0, ...this.#cookie }), isDurable, owner };
	}

	/** Resolves when everything is on disk, if it can be: who was here last, and what a disk did not take so far. */
	async close(): Promise<void> {
		this.#cancelSweep();
		this.#cancelRetry();
		// A write that is under way may fail yet.
		await this.#file.settled();
		if (this.#isUnsaved || this.#lastUse !== this.#usedAt()) await this.#save().catch(this.#options.report);
	}

	#redeem(secret: string, origin: string | undefined): Principal | undefined {
		const ticket = this.#tickets.redeem(secret);
		if (!ticket || !this.#isLive(ticket.owner)) return undefined;
		return ticket.origin === undefined || ticket.origin === origin ? ticket.principal : undefined;
	}

	/** What came from a token is no good once that is over, also before the next sweep. */
	#isLive({ id, revoked }: Principal): boolean {
		return !revoked.aborted && !this.#tokens.isOver(id);
	}

	#restore({ admin, tokens, browsers }: Stored): void {
		this.#tokens.restore(tokens);
		const isSameAdmin = admin === this.#adminHash;
		this.#browsers.restore(browsers, (id) => (id === ADMIN && !isSameAdmin ? undefined : this.#owner(id)));
		this.#lastUse = this.#usedAt();
	}

	#owner(id: string): Principal | undefined {
		return id === ADMIN ? this.admin : this.#tokens.principal(id);
	}

	/** At the next end of a token or a browser, so that what it has open ends with it; and once in a while. */
	#sweepLater(): void {
		const { clock } = this.#options;
		this.#cancelSweep();
		const next = Math.min(this.#tokens.nextEnd, this.#browsers.nextEnd) - clock.now();
		// A timer may be a little early, and a clock may be set back.
		const delayMs = Math.max(MIN_SWEEP_MS, Math.min(SWEEP_MS, next));
		this.#cancelSweep = clock.after(delayMs, () => {
			const isChanged = [this.#tokens.sweep().length > 0, this.#browsers.sweep()].includes(true);
			this.#tickets.sweep();
			this.#codes.sweep();
			if (isChanged || this.#lastUse !== this.#usedAt()) this.#save().catch(this.#options.report);
			this.#sweepLater();
		});
	}

	/** When a token was last used, which is worth a write once in a while and no more. */
	#usedAt(): number {
		return this.#tokens.records.reduce((latest, { lastUsedAt }) => Math.max(latest, lastUsedAt ?? 0), 0);
	}

	/** For what is in force already: a disk that does not take it now is asked again until it does. */
	async #saveInTheEnd(): Promise<Durability> {
		try {
			await this.#save();
			return { isDurable: true };
		} catch (error) {
			this.#options.report(error);
			this.#retryLater();
			return { isDurable: false };
		}
	}

	#retryLater(): void {
		this.#cancelRetry();
		this.#cancelRetry = this.#options.clock.after(RETRY_MS, () => {
			// Said once: it is tried far more often than anybody wants to read.
			if (this.#isUnsaved) this.#save().catch(() => this.#retryLater());
		});
	}

	async #save(): Promise<void> {
		let written: string[] = [];
		this.#isUnsaved = true;
		await this.#file
			.save(() => {
				this.#lastUse = this.#usedAt();
				this.#isUnsaved = false;
				written = [...this.#unwritten.keys()];
				return { admin: this.#adminHash, tokens: this.#tokens.records, browsers: this.#browsers.records };
			})
			.catch((error: unknown) => {
				this.#isUnsaved = true;
				throw error;
			});
		for (const id of written) this.#unwritten.delete(id);
	}
}

function refuse(message: string): never {
	throw unauthenticated(message);
}

function withoutHash({ hash: _, ...rest }: TokenRecord): TokenInfo {
	return rest;
}
