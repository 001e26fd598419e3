/**
 * Who may follow a session. A place is taken in the same turn as it is asked for, so that no burst passes the bound.
 *
 * Who may operate a session may have all of its places, and the first is never refused: viewers, who have most of
 * them together and a few each, can't keep out those whose session it is.
 */

import type { Place, Principal } from "../core/access.ts";
import { SessionError } from "../core/errors.ts";

/** What those who only look may have of a session's places: all of them together, and each. */
const VIEWERS_SHARE = 0.75;
const VIEWER_SHARE = 0.25;
/** Over all sessions, and but for the operator: a reader who stands still costs up to a megabyte. */
const MAX_OF_ONE = 256;
const MAX_OF_ALL = 1024;

export type ReadPlace = Place & { readonly session: string };

type Followed = {
	readers: number;
	viewers: number;
	readonly byCaller: Map<string, number>;
};

export class Readers {
	readonly #perSession: number;
	readonly #sessions = new Map<string, Followed>();
	readonly #byCaller = new Map<string, number>();
	#all = 0;

	constructor(perSession: number) {
		this.#perSession = perSession;
	}

	/** Takes a place, or throws `limit_exceeded`. The returned function gives it back, once. */
	take(principal: Pick<Principal, "account" | "isAdmin" | "may">, place: ReadPlace): () => void {
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
			if (own >= this.#share(VIEWER_SHARE)) throw refused(`this token follows the session ${own} times`);
			if (session.viewers >= this.#share(VIEWERS_SHARE)) throw refused(`${session.viewers} look at this session`);
		} else if (session.readers >= this.#perSession && own > 0) {
			throw refused(`this session has ${session.readers} attachments`);
		}
		if (isAdmin) return;
		const ofOne = this.#byCaller.get(account) ?? 0;
		if (ofOne >= MAX_OF_ONE) throw refused(`this token follows ${ofOne} sessions`);
		if (this.#all >= MAX_OF_ALL && ofOne > 0) throw refused(`sessions are followed ${this.#all} times`);
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
		this.#all += by;
		add(this.#byCaller, account, by);
	}
}

function add(counts: Map<string, number>, id: string, by: 1 | -1): void {
	const count = (counts.get(id) ?? 0) + by;
	if (count === 0) counts.delete(id);
	else counts.set(id, count);
}

function refused(what: string): SessionError {
	return new SessionError("limit_exceeded", `${what}, which is all there may be`, {
		hint: "close one of them, or ask the operator for a higher --max-attachments",
	});
}
