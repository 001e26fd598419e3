/**
 * Requests for secrets: whoever may not type one, such as an agent, asks for it to be typed into the question that a
 * program asks now, and a person gives or refuses it. A request is for that one question, and given once: as soon as the
 * program writes something, ends, asks again or waits no more, or after five minutes, it has expired. Where the operator
 * has named sources, one of them may give it instead. Requests are in memory alone, and what is given is never kept here.
 */

import { randomBytes } from "node:crypto";
import type { Principal } from "../core/access.ts";
import type { Receipt } from "../core/act.ts";
import type { Audit, Deed } from "../core/audit.ts";
import { Change } from "../core/change.ts";
import type { Clock } from "../core/clock.ts";
import { SessionError } from "../core/errors.ts";
import { type Inspection, isUnseen } from "../core/inspection.ts";
import { Listeners } from "../core/listeners.ts";
import type { SecretQuestion, Session } from "../core/session.ts";
import type { Sessions } from "../core/sessions.ts";
import type { Witness } from "../core/witness.ts";
import { checkCreation } from "./front.ts";
import { Places } from "./places.ts";
import { describeProgram } from "./program-state.ts";

/** A person who was asked has to come and type; later, nobody knows any more what it was for. */
const LIFETIME_MS = 5 * 60_000;
/** A program that goes on without a word is noticed so soon; only those are looked at of whom something is asked for. */
const LOOK_EVERY_MS = 1_000;
/** How many may be open of one caller, and of all: more than any person answers in that time. */
const OPEN = { each: 16, all: 256 };
const ID_BYTES = 6;

/** Who asks: somebody, or the agent that shows their credential. */
type Asker = Pick<Principal, "id" | "name" | "account" | "secrets" | "countCreation"> & {
	readonly isAgent?: boolean;
};

export type SecretRequest = {
	readonly id: string;
	readonly session: Session;
	/** What the asker calls it, and says that it is for. */
	readonly name: string | null;
	readonly reason: string | null;
	/** The question: its words, who asks it, and where the output ended then. */
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

/** A source has given what was asked for, or why it has not. */
export type SourceOutcome = { readonly name: string; readonly fault: string | null };

/** Gives secrets instead of a person. */
export interface SecretSources {
	/** Null if no source is for this question, which was `found` so. Never rejects; stops when the signal aborts. */
	answer(
		request: SecretRequest,
		found: Inspection,
		how: { readonly type: (value: Uint8Array, by: Doer) => Promise<Receipt>; readonly signal: AbortSignal },
	): Promise<SourceOutcome | null>;
}

type SecretStatus = "asked" | "given" | "refused" | "expired";

/** Something became of a request; `by` is null if nobody did it. */
type SecretNews = {
	readonly request: SecretRequest;
	readonly status: SecretStatus;
	readonly by: string | null;
};

export type Doer = { readonly principal: Pick<Principal, "name">; readonly witness: Witness };

type Open = {
	request: SecretRequest;
	/** In which the question was asked; see `Inspection`. */
	readonly episode: number;
	/** Aborted when it is over. */
	readonly over: AbortController;
	/** Settled once what is being typed there was typed, or not, and nobody gives it meanwhile; what the program writes until then is its answer. */
	typing: Promise<unknown>;
	/** Settled once no source will give it any more. */
	tried: Promise<void>;
	readonly leave: () => void;
};

type SecretRequestsOptions = {
	/** As they are, without any caller's witness. */
	readonly sessions: Pick<Sessions, "get">;
	readonly clock: Clock;
	readonly audit: Audit;
	/** What may answer without a person; nothing, when left out. */
	readonly sources?: SecretSources | undefined;
};

export class SecretRequests {
	readonly #options: SecretRequestsOptions;
	readonly #open = new Map<string, Open>();
	readonly #places = new Places(OPEN, tooMany);
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

	/** Hears what becomes of each, until the returned function is called. */
	watch(listener: (news: SecretNews) => void): () => void {
		return this.#listeners.add(listener);
	}

	/**
	 * For what the session's program asks now; who has asked for the same already gets that request. Resolves when it is
	 * up to a person, or a source has given it. `not_waiting` if the program reads no secret.
	 */
	async ask(
		session: Session,
		{ name = null, reason = null }: { readonly name?: string | null; readonly reason?: string | null },
		{ asker, witness, signal }: { readonly asker: Asker; readonly witness: Witness; readonly signal: AbortSignal },
	): Promise<SecretRequest> {
		if (asker.secrets === "none") throw mayNot("this token may not ask for secrets");
		const own = this.#options.sessions.get(session.id);
		if (!own) throw new SessionError("session_not_found", `there is no session ${session.id}`);
		const found = await own.inspect();
		const { state, kind, program, offset, lastLine: prompt } = await describeProgram(own, found, signal);
		if (state !== "waiting" || kind !== "secret") throw notAsking();
		const known = this.#of(session.id, asker).find(
			(open) => open.request.offset === offset && open.episode === found.episode,
		);
		if (known) {
			await known.tried;
			return known.request;
		}
		checkCreation(asker.countCreation());
		const { clock } = this.#options;
		const createdAt = clock.now();
		const about = { session: own, name, reason, prompt, program, offset, askedBy: asker };
		const id = randomBytes(ID_BYTES).toString("hex");
		const request = { id, ...about, createdAt, expiresAt: createdAt + LIFETIME_MS };
		const leave = this.#places.take(asker);
		const { episode } = found;
		const nothing = Promise.resolve();
		const open: Open = { request, episode, over: new AbortController(), typing: nothing, tried: nothing, leave };
		this.#open.set(id, open);
		this.#tell(open, "asked", { principal: asker, witness });
		void this.#expireInTime(open);
		open.tried = this.#trySources(open, found);
		await open.tried;
		return open.request;
	}

	/** What is typed as a secret into a session answers all who asked for one there. */
	async typed(session: Session, by: Doer, typing: Promise<Receipt>): Promise<Receipt> {
		const asked = this.#of(session.id);
		const answered = typing.then((receipt) => {
			// A repeat types nothing, and may be of what answered another question.
			if (receipt.accepted !== 0) for (const open of asked) this.#settle(open, "given", by);
			return receipt;
		});
		for (const open of asked) open.typing = answered.catch(() => undefined);
		return answered;
	}

	/** Types what was asked for into its question; `not_found` if it was given or is over, `not_waiting` if it turns out to be. */
	async give({ id }: SecretRequest, by: Doer, type: (question: SecretQuestion) => Promise<Receipt>): Promise<Receipt> {
		let open = this.#open.get(id);
		// One after the other: who comes second finds it given.
		for (let typing: unknown; open && open.typing !== typing; open = this.#open.get(id)) {
			typing = open.typing;
			await typing;
		}
		if (!open) throw noRequest(id);
		const { session, offset: at } = open.request;
		try {
			return await this.typed(session, by, type({ at, episode: open.episode }));
		} catch (error) {
			if (error instanceof SessionError && error.code === "not_waiting") this.#settle(open, "expired");
			throw error;
		}
	}

	refuse(request: SecretRequest, by: Doer): void {
		const open = this.#open.get(request.id);
		if (open) this.#settle(open, "refused", by);
	}

	/** Resolves when nothing is open any more that this caller asked for there, or the signal aborts. */
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
		const type = (value: Uint8Array, by: Doer) => {
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
		// Who can't be asked any more is not asked for anything either.
		await Promise.race([late, this.#untilUnasked(open), movedOn(request, signal)]).catch(() => undefined);
		await open.typing;
		this.#settle(open, "expired");
	}

	/** Resolves when its program is seen not to ask this any more, or it is over. */
	async #untilUnasked({ request, episode, over: { signal } }: Open): Promise<void> {
		const wake = new Change();
		for (;;) {
			const cancel = this.#options.clock.after(LOOK_EVERY_MS, () => wake.happen());
			await wake.next(signal);
			cancel();
			if (signal.aborted) return;
			const found = await request.session.inspect();
			const isAsked = found.state === "waiting" && found.episode === episode;
			if (!isAsked && !isUnseen(found)) return;
		}
	}

	#settle(open: Open, status: SecretStatus, by?: Doer): void {
		if (!this.#open.delete(open.request.id)) return;
		open.leave();
		open.over.abort();
		this.#tell(open, status, by);
	}

	#tell({ request }: Open, status: SecretStatus, by?: Doer): void {
		const { id, session } = request;
		const deed: Deed = { action: "secret-request", request: id, status };
		const place = { workspace: session.spec.workspace, session: session.id };
		if (by) by.witness.record(deed, place);
		else this.#options.audit.record({ ...deed, ...place, by: null });
		this.#listeners.tell({ request, status, by: by?.principal.name ?? null });
	}
}

/** Resolves when the program has written something since it asked, or has ended. */
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

/** Refuses to type a secret to who may only ask for it. */
export function checkMayType({ secrets }: Pick<Principal, "secrets">): void {
	if (secrets === "type") return;
	throw secrets === "none"
		? mayNot("this token may not type secrets")
		: mayNot(
				"this token may not type secrets, only ask for them",
				"POST /v1/sessions/:id/secret-requests asks a person",
			);
}

/** Refuses to give what oneself, or who made one, has asked for. */
export function checkMayGive(by: Pick<Principal, "id" | "makers" | "secrets">, { askedBy }: SecretRequest): void {
	checkMayType(by);
	// An agent's credential in other hands is a person's.
	if (askedBy.isAgent || ![by.id, ...by.makers].includes(askedBy.id)) return;
	throw mayNot("nobody gives a secret that they asked for themselves", "somebody else has to");
}

function mayNot(message: string, hint = "ask the person who made the token for another"): SessionError {
	return new SessionError("permission_denied", message, { hint });
}

function notAsking(): SessionError {
	return new SessionError("not_waiting", "the program does not read a secret now", {
		hint: "ask when it does: /v1/sessions/:id/state says so",
	});
}

/** Of one that is over, or never was. */
export function noRequest(id: string): SessionError {
	return new SessionError("not_found", `no secret is asked for by ${JSON.stringify(id.slice(0, 64))}`, {
		hint: "it was given, refused, or is over: GET /v1/secret-requests lists those there are",
	});
}

function tooMany(): SessionError {
	return new SessionError("limit_exceeded", "too many requests for secrets are open", {
		hint: `they expire after ${LIFETIME_MS / 60_000} minutes`,
	});
}
