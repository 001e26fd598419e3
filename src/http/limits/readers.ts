/**
 * Limits the readers of a session. A reader is counted in the same turn in which it asks, so that a burst can't exceed
 * the limit.
 *
 * Callers that may operate the session may use the whole limit, and their first reader is never refused. Viewers share
 * a part of it and each have a small limit, so they can't keep operators out.
 */

import { SessionError } from "../../core/errors.ts";
import type { AccessResource, Principal } from "../../core/policy/access.ts";

/**
 * Shares of a session's limit that all viewers together, and each viewer, may use.
 * @limit readers of one session that may only read, of all its readers | `limit_exceeded`
 */
const VIEWERS_SHARE = 0.75;
/** @limit the same for one caller | `limit_exceeded` */
const VIEWER_SHARE = 0.25;
/**
 * Limits over all sessions, except for the operator. A reader that stops reading costs up to a megabyte.
 * @limit readers of one caller over all sessions, except for the operator | `limit_exceeded`
 */
const MAX_PER_CALLER = 256;
/** @limit readers over all sessions, except for the operator | `limit_exceeded` */
const MAX_OF_CALLERS = 1024;

export type SessionResource = AccessResource & { readonly session: string };

type Followed = {
	readers: number;
	viewers: number;
	readonly byCaller: Map<string, number>;
};

export class ReaderLimit {
	readonly #perSession: number;
	readonly #sessions = new Map<string, Followed>();
	readonly #byCaller = new Map<string, number>();
	#total = 0;

	constructor(perSession: number) {
		this.#perSession = perSession;
	}

	/** Counts a reader, or throws `limit_exceeded`. The returned function ends that; it is idempotent. */
	take(principal: Pick<Principal, "account" | "isAdmin" | "may">, place: SessionResource): () => void {
		const session = this.#sessions.get(place.session) ?? { readers: 0, viewers: 0, byCaller: new Map() };
		const isViewer = !principal.may("operate", place);
		this.#check(principal, session, isViewer);
		this.#sessions.set(place.session, session);
		this.#count(principal, session, isViewer, 1);
		let isTaken = true;
		return () => {
			if (!isTaken) return;
			isTaken = false;
			this.#count(principal, session, isViewer, -1);
			if (session.readers === 0) this.#sessions.delete(place.session);
		};
	}

	#check({ account, isAdmin }: Pick<Principal, "account" | "isAdmin">, session: Followed, isViewer: boolean): void {
		const own = session.byCaller.get(account) ?? 0;
		if (isViewer) {
			if (own >= this.#share(VIEWER_SHARE)) throw refused(`this token has ${own} readers of the session`);
			if (session.viewers >= this.#share(VIEWERS_SHARE)) throw refused(`this session has ${session.viewers} viewers`);
		} else if (session.readers >= this.#perSession && own > 0) {
			throw refused(`this session has ${session.readers} attachments`);
		}
		if (isAdmin) return;
		const ofOne = this.#byCaller.get(account) ?? 0;
		if (ofOne >= MAX_PER_CALLER) throw refused(`this token has ${ofOne} readers`);
		if (this.#total >= MAX_OF_CALLERS && ofOne > 0) throw refused(`the server has ${this.#total} readers`);
	}

	#share(part: number): number {
		return Math.max(1, Math.floor(this.#perSession * part));
	}

	#count(
		{ account, isAdmin }: Pick<Principal, "account" | "isAdmin">,
		session: Followed,
		isViewer: boolean,
		by: 1 | -1,
	): void {
		session.readers += by;
		if (isViewer) session.viewers += by;
		add(session.byCaller, account, by);
		if (isAdmin) return;
		this.#total += by;
		add(this.#byCaller, account, by);
	}
}

function add(counts: Map<string, number>, id: string, by: 1 | -1): void {
	const count = (counts.get(id) ?? 0) + by;
	if (count === 0) counts.delete(id);
	else counts.set(id, count);
}

function refused(what: string): SessionError {
	return new SessionError("limit_exceeded", `${what}, which is the limit`, {
		hint: "close one of them, or ask the operator for a higher --max-attachments",
	});
}
