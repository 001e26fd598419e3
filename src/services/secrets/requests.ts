/**
 * Requests for secrets. A caller that may not type a secret, such as an agent, requests one for the prompt that a program
 * shows now, and a user enters or refuses it. A secret source of the operator may answer instead.
 *
 * A request is for one prompt and is answered once. It expires when the program writes output, ends, asks again or stops
 * waiting, or after five minutes. Requests are kept in memory only, and secrets are not kept at all.
 */

import { randomBytes } from "node:crypto";
import { Budget } from "../../core/async/budget.ts";
import { Change } from "../../core/async/change.ts";
import type { Clock } from "../../core/async/clock.ts";
import { Listeners } from "../../core/async/listeners.ts";
import { SessionError } from "../../core/errors.ts";
import type { PromptIdentity, Receipt } from "../../core/input/action.ts";
import { type Inspection, isSecretRead, isTimedOut } from "../../core/inspect/inspection.ts";
import type { Principal } from "../../core/policy/access.ts";
import type { Audit, AuditedAction } from "../../core/policy/audit.ts";
import type { AuditedCaller } from "../../core/policy/audited-caller.ts";
import { checkStartRate } from "../../core/policy/start-rate.ts";
import type { Session } from "../../core/session/session.ts";
import type { Sessions } from "../../core/session/session-registry.ts";
import { describeProgram } from "../attention/program-state.ts";

/**
 * Time for a user to come and type. After that, the purpose of a request is forgotten.
 * @limit a request for a secret | it expires
 */
const LIFETIME_MS = 5 * 60_000;
/** Interval for noticing that a program has moved on without output. Only programs with open requests are inspected. */
const LOOK_EVERY_MS = 1_000;
/**
 * Open requests of one caller and of all: more than any user answers in that time.
 * @limit open requests for secrets | `limit_exceeded`
 */
const OPEN = {
	what: "open requests for secrets",
	operator: 16,
	others: 256,
	each: 16,
	fair: 4,
	accounts: 48,
	hint: `they expire after ${LIFETIME_MS / 60_000} minutes`,
};
const ID_BYTES = 6;

/** The caller that requests a secret: a user, or an agent with the user's credential. */
type Asker = Pick<Principal, "id" | "name" | "account" | "secrets" | "countCreation" | "isAdmin"> & {
	readonly isAgent?: boolean;
};

export type SecretRequest = {
	readonly id: string;
	readonly session: Session;
	/** The name and the reason that the caller gives. */
	readonly name: string | null;
	readonly reason: string | null;
	/** The prompt, the program that shows it, and the output offset at that time. */
	readonly prompt: string;
	readonly program: string | null;
	readonly offset: number;
	readonly askedBy: Asker;
	/** Milliseconds since the epoch. */
	readonly createdAt: number;
	readonly expiresAt: number;
	/** The source that was to give it, if one was. */
	readonly source?: SourceOutcome;
};

/** The result of a secret source: success, or the reason of the failure. */
export type SourceOutcome = { readonly name: string; readonly fault: string | null };

/** Answers requests instead of a user. */
export interface SecretSources {
	/** Null if no source is configured for the prompt that was `found`. Never rejects; stops when the signal aborts. */
	answer(
		request: SecretRequest,
		found: Inspection,
		how: { readonly type: (value: Uint8Array, by: Actor) => Promise<Receipt>; readonly signal: AbortSignal },
	): Promise<SourceOutcome | null>;
}

type SecretStatus = "asked" | "given" | "refused" | "expired";

/** A change of a request's status; `by` is null if no caller caused it. */
type SecretNews = {
	readonly request: SecretRequest;
	readonly status: SecretStatus;
	readonly by: string | null;
};

export type Actor = { readonly principal: Pick<Principal, "name">; readonly witness: AuditedCaller };

type Open = {
	request: SecretRequest;
	/** Episode of the prompt; see `Inspection`. */
	readonly episode: number;
	/** Aborts when the request is closed. */
	readonly over: AbortController;
	/** Settles when the current typing is done. Until then, other callers wait, and new output of the program counts as its reaction. */
	typing: Promise<unknown>;
	/** Settles when all matching sources have been tried. */
	tried: Promise<void>;
	readonly leave: () => void;
};

type SecretRequestsOptions = {
	/** The sessions without auditing of a caller. */
	readonly sessions: Pick<Sessions, "get">;
	readonly clock: Clock;
	readonly audit: Audit;
	/** Secret sources; none by default. */
	readonly sources?: SecretSources | undefined;
};

export class SecretRequests {
	readonly #options: SecretRequestsOptions;
	readonly #open = new Map<string, Open>();
	readonly #slots = new Budget(OPEN);
	readonly #listeners = new Listeners<SecretNews>();

	constructor(options: SecretRequestsOptions) {
		this.#options = options;
	}

	/** Oldest first. */
	list(): readonly SecretRequest[] {
		return [...this.#open.values()].map(({ request }) => request);
	}

	get(id: string): SecretRequest | undefined {
		return this.#open.get(id)?.request;
	}

	/** Calls the listener on every status change, until the returned function is called. */
	watch(listener: (news: SecretNews) => void): () => void {
		return this.#listeners.add(listener);
	}

	/**
	 * Creates a request for the prompt that the session's program shows now, or returns the caller's existing one for it.
	 * Resolves when a source has answered, or a user has to. Rejects with `not_waiting` if the program reads no secret.
	 */
	async ask(
		session: Session,
		{ name = null, reason = null }: { readonly name?: string | null; readonly reason?: string | null },
		{
			asker,
			witness,
			signal,
		}: { readonly asker: Asker; readonly witness: AuditedCaller; readonly signal: AbortSignal },
	): Promise<SecretRequest> {
		if (asker.secrets === "none") throw mayNot("this token may not request secrets");
		const own = this.#options.sessions.get(session.id);
		if (!own) throw new SessionError("session_not_found", `there is no session ${session.id}`);
		const found = await own.inspect();
		const described = await describeProgram(own, found, signal);
		if (!isSecretRead(described)) throw notAsking();
		const { program, offset, lastLine: prompt } = described;
		const known = this.#of(session.id, asker).find(
			(open) => open.request.offset === offset && open.episode === found.episode,
		);
		if (known) {
			await known.tried;
			return known.request;
		}
		checkStartRate(asker.countCreation());
		const { clock } = this.#options;
		const createdAt = clock.now();
		const about = { session: own, name, reason, prompt, program, offset, askedBy: asker };
		const id = randomBytes(ID_BYTES).toString("hex");
		const request = { id, ...about, createdAt, expiresAt: createdAt + LIFETIME_MS };
		const leave = this.#slots.enter(asker);
		const { episode } = found;
		const nothing = Promise.resolve();
		const open: Open = { request, episode, over: new AbortController(), typing: nothing, tried: nothing, leave };
		this.#open.set(id, open);
		this.#report(open, "asked", { principal: asker, witness });
		void this.#expireInTime(open);
		open.tried = this.#trySources(open, found);
		await open.tried;
		return open.request;
	}

	/** A secret typed into a session closes all its requests. */
	async typed(session: Session, by: Actor, typing: Promise<Receipt>): Promise<Receipt> {
		const asked = this.#of(session.id);
		const answered = typing.then((receipt) => {
			// A repeat types nothing, and may belong to another prompt.
			if (receipt.accepted !== 0) for (const open of asked) this.#settle(open, "given", by);
			return receipt;
		});
		for (const open of asked) open.typing = answered.catch(() => undefined);
		return answered;
	}

	/** Types a requested secret. Rejects with `not_found` if the request is closed, and `not_waiting` if the prompt is gone. */
	async give({ id }: SecretRequest, by: Actor, type: (question: PromptIdentity) => Promise<Receipt>): Promise<Receipt> {
		let open = this.#open.get(id);
		// One after another: the second caller finds the request closed.
		for (let typing: unknown; open && open.typing !== typing; open = this.#open.get(id)) {
			typing = open.typing;
			await typing;
		}
		if (!open) throw secretRequestNotFound(id);
		const { session, offset: at } = open.request;
		try {
			return await this.typed(session, by, type({ at, episode: open.episode }));
		} catch (error) {
			if (error instanceof SessionError && error.code === "not_waiting") this.#settle(open, "expired");
			throw error;
		}
	}

	refuse(request: SecretRequest, by: Actor): void {
		const open = this.#open.get(request.id);
		if (open) this.#settle(open, "refused", by);
	}

	/** Resolves when this caller has no open requests for the session, or the signal aborts. */
	async untilOver(session: Pick<Session, "id">, asker: Pick<Asker, "id">, signal: AbortSignal): Promise<void> {
		await Promise.all(this.#of(session.id, asker).map(({ over }) => aborted(AbortSignal.any([over.signal, signal]))));
	}

	#of(session: string, asker?: Pick<Asker, "id">): Open[] {
		return [...this.#open.values()].filter(
			({ request }) => request.session.id === session && (!asker || request.askedBy.id === asker.id),
		);
	}

	async #trySources(open: Open, found: Inspection): Promise<void> {
		const { request, over } = open;
		const type = (value: Uint8Array, by: Actor) => {
			const session = by.witness.session(request.session);
			return this.give(request, by, (question) => session.secret(value, question));
		};
		const source = await this.#options.sources?.answer(request, found, { type, signal: over.signal });
		if (source) open.request = { ...request, source };
	}

	async #expireInTime(open: Open): Promise<void> {
		const { request, over } = open;
		const { signal } = over;
		const late = new Promise<void>((resolve) => {
			const cancel = this.#options.clock.after(LIFETIME_MS, resolve);
			signal.addEventListener("abort", cancel, { once: true });
		});
		// A session that can't be reached can't be answered.
		await Promise.race([late, this.#untilNotAsking(open), movedOn(request, signal)]).catch(() => undefined);
		await open.typing;
		this.#settle(open, "expired");
	}

	/** Resolves when an inspection shows that the program no longer asks, or the request is closed. */
	async #untilNotAsking({ request, episode, over: { signal } }: Open): Promise<void> {
		const wake = new Change();
		for (;;) {
			const cancel = this.#options.clock.after(LOOK_EVERY_MS, () => wake.happen());
			await wake.wait(signal);
			cancel();
			if (signal.aborted) return;
			const found = await request.session.inspect();
			const isAsked = found.state === "waiting" && found.episode === episode;
			if (!isAsked && !isTimedOut(found)) return;
		}
	}

	#settle(open: Open, status: SecretStatus, by?: Actor): void {
		if (!this.#open.delete(open.request.id)) return;
		open.leave();
		open.over.abort();
		this.#report(open, status, by);
	}

	#report({ request }: Open, status: SecretStatus, by?: Actor): void {
		const { id, session } = request;
		const deed: AuditedAction = { action: "secret-request", request: id, status };
		const place = { workspace: session.spec.workspace, session: session.id };
		if (by) by.witness.record(deed, place);
		else this.#options.audit.record({ ...deed, ...place, by: null });
		this.#listeners.notify({ request, status, by: by?.principal.name ?? null });
	}
}

/** Resolves when the program has written output since the prompt, or has ended. */
async function movedOn({ session, offset }: SecretRequest, signal: AbortSignal): Promise<void> {
	for await (const item of session.follow({ offset }, { flow: "live", isOwn: true, signal })) {
		if (item.kind !== "resized") return;
	}
}

function aborted(signal: AbortSignal): Promise<void> {
	return new Promise((resolve) => {
		if (signal.aborted) resolve();
		signal.addEventListener("abort", () => resolve(), { once: true });
	});
}

/** Refuses to type a secret for a caller that may only request one. */
export function checkMayType({ secrets }: Pick<Principal, "secrets">): void {
	if (secrets === "type") return;
	throw secrets === "none"
		? mayNot("this token may not type secrets")
		: mayNot("this token may not type secrets, only request them", "POST /v1/sessions/:id/secret-requests asks a user");
}

/** A caller must not answer its own request, or that of a token that created it. */
export function checkMayGive(by: Pick<Principal, "id" | "makers" | "secrets">, { askedBy }: SecretRequest): void {
	checkMayType(by);
	// With an agent's credential, another holder of it counts as a user.
	if (askedBy.isAgent || ![by.id, ...by.makers].includes(askedBy.id)) return;
	throw mayNot("a caller can't answer its own request for a secret", "another user must answer it");
}

function mayNot(message: string, hint = "use a token with the right to type secrets"): SessionError {
	return new SessionError("permission_denied", message, { hint });
}

function notAsking(): SessionError {
	return new SessionError("not_waiting", "the program does not read a secret now", {
		hint: 'wait until GET /v1/sessions/:id/state reports kind "secret"',
	});
}

/** For a request that is closed or never existed. */
export function secretRequestNotFound(id: string): SessionError {
	return new SessionError("not_found", `there is no open secret request ${JSON.stringify(id.slice(0, 64))}`, {
		hint: "it may have been answered, refused or expired; GET /v1/secret-requests lists the open ones",
	});
}
