/** Authenticates the callers of one server: tokens for programs, cookies for browsers, tickets for their sockets. */

import type { Clock } from "../core/async/clock.ts";
import { type Rate, RateLimiter } from "../core/async/rate-limit.ts";
import { SessionError } from "../core/errors.ts";
import type {
	Access,
	CredentialPrincipal,
	Credentials,
	Durability,
	Grantor,
	Principal,
	SignedIn,
	SignedOut,
	TicketPrincipal,
	TokenInfo,
	TokenRequest,
	Verify,
} from "../core/policy/access.ts";
import type { Right } from "../words/rights.ts";
import { AccessFile, type Stored } from "./access-file.ts";
import { type Cookie, readCookie, setCookie } from "./cookie.ts";
import { OneTimeSecrets } from "./one-time-secrets.ts";
import { createRevocation, credentialOf, ticketPrincipal, unauthenticated } from "./principal.ts";
import { createSecret, digest, isDigestOf, type RandomBytes, sign } from "./secret-digest.ts";
import { Browsers, COOKIE_LIFETIME_MS } from "./signed-in-browsers.ts";
import { type TokenRecord, Tokens } from "./tokens.ts";

export type AccessOptions = {
	/** The operator's token, which is stored elsewhere. */
	readonly adminToken: string;
	/** The file of tokens and browsers. */
	readonly file: string;
	/** Replaces a file atomically, readable by its owner only. */
	readonly write: (path: string, text: string) => Promise<void>;
	readonly clock: Clock;
	readonly randomBytes: RandomBytes;
	/** Whether browsers connect over TLS. */
	readonly isSecure: boolean;
	/** The workspace of a session, which decides who may share it. */
	readonly workspaceOf: (session: string) => string | undefined;
	/** Rate of session starts per caller. */
	readonly creationRate: Rate;
	/** Checks credentials that this server has not issued. */
	readonly verify?: Verify;
	/** Reports problems that concern no caller, such as a file that can't be written. */
	readonly report: (problem: unknown) => void;
};

const ADMIN = "admin";
/** Digits that make cookie names unique per server on one host. */
const SERVER_DIGITS = 8;
/** @limit a ticket | it expires */
const TICKET_MS = 30_000;
const TICKET_ID_BYTES = 6;
/** @limit a sign-in link | it expires */
const SIGN_IN_MS = 5 * 60_000;
/** Interval for removing expired records and saving last-used times. */
const SWEEP_MS = 60_000;
/** Shortest time between two checks, even if the clock was set. */
const MIN_SWEEP_MS = 1;
/** Delay before a failed write of a revocation is retried. */
const RETRY_MS = 1_000;

type Ticket = { readonly owner: Grantor; readonly principal: TicketPrincipal; readonly origin: string | undefined };

export class LocalAccess implements Access {
	/** The caller with the admin token. It does not expire while the server runs. */
	readonly admin: CredentialPrincipal;
	readonly #options: AccessOptions;
	readonly #adminHash: string;
	readonly #cookie: Cookie;
	/** Checked when a token is unknown, so that the response time does not reveal whether it exists. */
	readonly #unknownHash: string;
	readonly #file: AccessFile;
	readonly #tokens: Tokens;
	readonly #browsers: Browsers;
	readonly #tickets: OneTimeSecrets<Ticket>;
	readonly #codes: OneTimeSecrets<CredentialPrincipal>;
	/** Revoked tokens that may still be on disk, with the caller that revoked each. */
	readonly #unwritten = new Map<string, string>();
	/** Whether the file lacks a change. */
	#isUnsaved = false;
	#cancelSweep: () => void = () => {};
	#cancelRetry: () => void = () => {};
	#lastUse = 0;

	/** Opens the stored state. */
	static async open(options: AccessOptions): Promise<LocalAccess> {
		const access = new LocalAccess(options);
		const stored = await access.#file.read();
		if (stored) access.#restore(stored);
		access.#sweepLater();
		return access;
	}

	private constructor(options: AccessOptions) {
		const { clock, randomBytes, creationRate } = options;
		const creations = new RateLimiter(creationRate, clock);
		this.#options = options;
		this.#adminHash = digest(options.adminToken);
		this.#cookie = { server: digest(this.#adminHash).slice(0, SERVER_DIGITS), isSecure: options.isSecure };
		this.#unknownHash = digest(createSecret(randomBytes));
		this.#file = new AccessFile(options.file, options.write);
		this.#tokens = new Tokens({
			...options,
			// Saved at once: after a crash, a used token must not look unused.
			onFirstUse: () => void this.#save().catch(options.report),
		});
		this.#browsers = new Browsers(options);
		this.#tickets = new OneTimeSecrets({ what: "tickets", lifetimeMs: TICKET_MS, clock, randomBytes });
		this.#codes = new OneTimeSecrets({ what: "sign-in links", lifetimeMs: SIGN_IN_MS, clock, randomBytes });
		this.admin = {
			kind: "credential",
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

	/** Whether browsers connect over TLS. */
	get isSecure(): boolean {
		return this.#options.isSecure;
	}

	/** The caller with these credentials. A ticket is used up by this. Throws for invalid credentials. */
	authorize({ credential, ticket, cookies, pageKey, origin, isSafe }: Credentials): Principal {
		if (credential !== undefined) {
			// Both are always compared, so that the response time does not reveal which one was tried.
			const isAdmin = isDigestOf(this.#adminHash, credential) && this.#options.adminToken !== "";
			const principal = this.#tokens.verify(credential) ?? (isAdmin ? this.admin : undefined);
			return principal ?? this.#options.verify?.(credential) ?? refuse("the token is not valid");
		}
		if (ticket !== undefined) return this.#redeem(ticket, origin) ?? refuse("the ticket is no longer valid");
		const value = readCookie(cookies, this.#cookie);
		if (value === undefined) return refuse("a token is required");
		if (pageKey === undefined) return refuse("the page key of this browser is required in addition to the cookie");
		// Browsers send cookies on their own. Only the origin shows that the request came from one of our pages.
		if (!isSafe && origin === undefined) return refuse("an Origin header is required in addition to the cookie");
		const principal = this.#browsers.find(value, pageKey);
		if (!principal || !this.#isLive(principal)) return refuse("this browser is no longer signed in");
		this.#tokens.touch(principal.id);
		return principal;
	}

	async createToken(by: Grantor, request: TokenRequest): Promise<{ secret: string; token: TokenInfo }> {
		this.#checkLive(by);
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

	listTokens(by: Grantor): TokenInfo[] {
		return this.#tokens.visibleTo(by).map(withoutHash);
	}

	async revokeToken(by: Grantor, id: string): Promise<Durability> {
		this.#checkLive(by);
		if (id === ADMIN && by.isAdmin) {
			throw new SessionError("permission_denied", "the operator's token can't be revoked here", {
				hint: "remove admin-token from the state directory and restart the server, which creates a new one",
			});
		}
		const isThere = this.#tokens.visibleTo(by).some((record) => record.id === id);
		const isUnwritten = this.#unwritten.has(id) && (by.isAdmin || this.#unwritten.get(id) === by.id);
		if (!isThere && !isUnwritten) {
			throw new SessionError("not_found", `there is no token ${JSON.stringify(id.slice(0, 64))}`);
		}
		// Takes effect before it is on disk, since a revocation is urgent.
		for (const gone of this.#tokens.remove(id)) this.#unwritten.set(gone, by.id);
		this.#browsers.sweep();
		return this.#saveEventually();
	}

	async leaveWorkspace(by: Grantor, workspace: string): Promise<readonly string[]> {
		const ended = this.#tokens.leave(workspace);
		for (const id of ended) this.#unwritten.set(id, by.id);
		this.#browsers.sweep();
		await this.#saveEventually();
		return ended;
	}

	/** Aborts when a token is revoked or expires; undefined for an unknown token. */
	revocationOf(id: string): AbortSignal | undefined {
		if (id === ADMIN) return this.admin.revoked;
		return this.#tokens.isOver(id) ? undefined : this.#tokens.principal(id)?.revoked;
	}

	prove(token: string, text: string): string {
		return sign((token === ADMIN ? this.#adminHash : this.#tokens.hashOf(token)) ?? this.#unknownHash, text);
	}

	createTicket(
		by: Grantor,
		{
			session,
			right,
			origin,
		}: { readonly session: string; readonly right: Right; readonly origin: string | undefined },
	): { id: string; ticket: string; expiresAt: number } {
		this.#checkLive(by);
		const id = Buffer.from(this.#options.randomBytes(TICKET_ID_BYTES)).toString("hex");
		const principal = ticketPrincipal(by, id, session, right);
		const { secret, expiresAt } = this.#tickets.issue(by.account, { owner: by, principal, origin });
		return { id, ticket: secret, expiresAt };
	}

	createSignInCode(by: Grantor): { code: string; expiresAt: number } {
		this.#checkLive(by);
		const { secret, expiresAt } = this.#codes.issue(by.account, credentialOf(by));
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

	async signInAs(by: Grantor): Promise<SignedIn> {
		this.#checkLive(by);
		const owner = credentialOf(by);
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
		const { isDurable } = owner || this.#isUnsaved ? await this.#saveEventually() : { isDurable: true };
		return { cookie: setCookie("", { maxAgeMs: 0, ...this.#cookie }), isDurable, owner };
	}

	/** Saves last-used times and earlier changes that could not be written, if the disk allows. */
	async close(): Promise<void> {
		this.#cancelSweep();
		this.#cancelRetry();
		// A write in progress may still fail.
		await this.#file.settled();
		if (this.#isUnsaved || this.#lastUse !== this.#usedAt()) await this.#save().catch(this.#options.report);
	}

	#redeem(secret: string, origin: string | undefined): Principal | undefined {
		const ticket = this.#tickets.redeem(secret);
		if (!ticket || !this.#isLive(ticket.owner)) return undefined;
		return ticket.origin === undefined || ticket.origin === origin ? ticket.principal : undefined;
	}

	/** The credential may be revoked while a request is being received. */
	#checkLive(by: Grantor): void {
		if (!this.#isLive(by)) refuse("the credential of this request was revoked or has expired");
	}

	/** Credentials derived from a token end with it, even before the next sweep. */
	#isLive({ id, revoked }: Principal): boolean {
		return !revoked.aborted && !this.#tokens.isOver(id);
	}

	#restore({ admin, tokens, browsers }: Stored): void {
		this.#tokens.restore(tokens);
		const isSameAdmin = admin === this.#adminHash;
		this.#browsers.restore(browsers, (id) => {
			if (id === ADMIN) return isSameAdmin ? this.admin : undefined;
			return this.#tokens.principal(id);
		});
		this.#lastUse = this.#usedAt();
	}

	/** Schedules the next sweep for when a token or browser expires, but at least once per interval. */
	#sweepLater(): void {
		const { clock } = this.#options;
		this.#cancelSweep();
		const next = Math.min(this.#tokens.nextEnd, this.#browsers.nextEnd) - clock.now();
		// A timer may fire early, and the clock may be set back.
		const delayMs = Math.max(MIN_SWEEP_MS, Math.min(SWEEP_MS, next));
		this.#cancelSweep = clock.after(delayMs, () => {
			const isChanged = [this.#tokens.sweep().length > 0, this.#browsers.sweep()].includes(true);
			this.#tickets.sweep();
			this.#codes.sweep();
			if (isChanged || this.#lastUse !== this.#usedAt()) this.#save().catch(this.#options.report);
			this.#sweepLater();
		});
	}

	/** The newest last-used time. It is saved from time to time only. */
	#usedAt(): number {
		return this.#tokens.records.reduce((latest, { lastUsedAt }) => Math.max(latest, lastUsedAt ?? 0), 0);
	}

	/** Saves a change that is already in effect, and retries until the disk accepts it. */
	async #saveEventually(): Promise<Durability> {
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
			// Reported once, since it is retried often.
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
