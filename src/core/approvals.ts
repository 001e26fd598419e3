/**
 * Acts that are held until somebody else decides on them. They are known to this process alone: whatever it is that
 * ends it, nothing that was held is ever done.
 */

import type { Principal } from "./access.ts";
import type { Clock } from "./clock.ts";
import { SessionError } from "./errors.ts";
import { Listeners } from "./listeners.ts";
import type { Session } from "./session.ts";
import { isEnded } from "./state.ts";

/** How many acts may be held at a time, of one account and in all: more than people look at. */
const HELD_EACH = 8;
const HELD_ALL = 256;
/** How many that are decided are remembered, so that it can be asked what became of one: the newest. */
const REMEMBERED = 200;

type ApprovalState = "asked" | "granted" | "denied" | "expired" | "withdrawn";

export type Approval = {
	readonly id: string;
	/** The session it is done to; of a `start`, the one that there will be. */
	readonly session: { readonly id: string; readonly name: string | null; readonly workspace: string };
	/** Who wants it. */
	readonly by: { readonly id: string; readonly name: string };
	readonly kind: "start" | "run" | "input" | "signal" | "stop" | "delete";
	/** Why it is held: it matches, its keys do not say what it is, or such acts always are. */
	readonly reason: "match" | "unreadable" | "always";
	/** What it is, fit to be shown anywhere, and cut in the middle where it is long. */
	readonly preview: string;
	/** Of the exact bytes, in hex. */
	readonly sha256: string;
	/** Where the output ended, and the lease's fence, when it was asked for; null where there is no session yet. */
	readonly offset: number | null;
	readonly fence: number | null;
	readonly askedAt: number;
	readonly expiresAt: number;
	readonly state: ApprovalState;
	/** Once it is not `asked` any more; by whom, if anybody, and what they or we have to say. */
	readonly endedAt?: number;
	readonly decidedBy?: string;
	readonly note?: string;
};

export type Asked = Pick<Approval, "session" | "by" | "kind" | "reason" | "preview" | "sha256" | "offset" | "fence"> & {
	readonly account: string;
	readonly timeoutMs: number;
	/** That it ends ends this; a `start` has none yet. */
	readonly target: Session | undefined;
	/** Whether it may be done still, now that it is approved: why not, if so. */
	readonly check: (evenIfChanged: boolean) => Promise<string | undefined>;
};

type Decision = {
	readonly decision: "grant" | "deny";
	readonly note?: string | undefined;
	/** Also if there was more output since. */
	readonly evenIfChanged?: boolean | undefined;
};

type Ending = Pick<Approval, "decidedBy" | "note"> & { readonly state: Exclude<ApprovalState, "asked"> };

type Held = {
	readonly approval: Approval;
	readonly asked: Asked;
	readonly end: (ending: Ending) => Approval;
	isDeciding: boolean;
	outcome: Approval | undefined;
};

type ApprovalsOptions = { readonly clock: Clock; readonly newId: () => string };

export class Approvals {
	readonly #options: ApprovalsOptions;
	readonly #held = new Map<string, Held>();
	/** Oldest first. */
	readonly #ended = new Map<string, Approval>();
	readonly #listeners = new Listeners<Approval>();
	#isClosed = false;

	constructor(options: ApprovalsOptions) {
		this.#options = options;
	}

	/** Calls back when one is asked for, and when it has ended, until the returned function is called. */
	watch(listener: (approval: Approval) => void): () => void {
		return this.#listeners.add(listener);
	}

	/** How many acts on a session are held. */
	count(session: string): number {
		return this.heldOn(session).length;
	}

	heldOn(session: string): readonly Approval[] {
		return [...this.#held.values()].map(({ approval }) => approval).filter((one) => one.session.id === session);
	}

	/** Those that wait, oldest first, as far as the caller may know of them. */
	list(by: Principal): readonly Approval[] {
		return [...this.#held.values()].map(({ approval }) => approval).filter((one) => mayKnow(by, one));
	}

	/** One that waits, or has ended not long ago. */
	get(by: Principal, id: string): Approval {
		const found = this.#held.get(id)?.approval ?? this.#ended.get(id);
		if (found && mayKnow(by, found)) return found;
		throw new SessionError("not_found", `there is no approval ${JSON.stringify(id.slice(0, 64))}`, {
			hint: "it may have been forgotten, or the server was started anew: nothing that was held is done then",
		});
	}

	/** Holds an act until that is decided, or is not going to be; the signal says that nobody waits for it any more. */
	async hold(asked: Asked, gone: AbortSignal | undefined, onAsked: (approval: Approval) => void): Promise<Approval> {
		if (this.#isClosed) throw new SessionError("node_unavailable", "the server is shutting down");
		this.#checkRoom(asked.account);
		const { clock, newId } = this.#options;
		const { session, by, kind, reason, preview, sha256, offset, fence, timeoutMs, target } = asked;
		const askedAt = clock.now();
		const about = { session, by, kind, reason, preview, sha256, offset, fence };
		const approval: Approval = { id: newId(), ...about, askedAt, expiresAt: askedAt + timeoutMs, state: "asked" };
		return new Promise((resolve) => {
			const end = (ending: Ending) => {
				held.outcome ??= this.#end(approval, ending);
				cancelTimer();
				unwatch?.();
				gone?.removeEventListener("abort", withdraw);
				resolve(held.outcome);
				return held.outcome;
			};
			const held: Held = { approval, asked, end, isDeciding: false, outcome: undefined };
			const withdraw = () => end({ state: "withdrawn", note: "whoever asked for it has gone" });
			const cancelTimer = clock.after(timeoutMs, () => end({ state: "expired", note: "nobody decided in time" }));
			const expire = () => end({ state: "expired", note: "the session has ended" });
			const unwatch = target?.watch((state) => {
				if (isEnded(state)) expire();
			});
			this.#held.set(approval.id, held);
			onAsked(approval);
			this.#listeners.tell(approval);
			gone?.addEventListener("abort", withdraw, { once: true });
			// It may have been so before anybody listened.
			if (gone?.aborted) withdraw();
			if (target && isEnded(target.state)) expire();
		});
	}

	/** What became of it: one that is granted may have expired, because something else is there by now. */
	async decide(by: Principal, id: string, { decision, note, evenIfChanged = false }: Decision): Promise<Approval> {
		const approval = this.get(by, id);
		checkMayDecide(by, approval);
		const held = this.#held.get(id);
		if (!held || held.isDeciding) {
			const outcome = held ? "it is being granted" : approval.state;
			throw new SessionError("conflict", `approval ${id} is decided already: ${outcome}`);
		}
		const said = { decidedBy: by.name, ...(note === undefined ? {} : { note }) };
		if (decision === "deny") return held.end({ state: "denied", ...said });
		// Once: a second grant would be one for something that is done already.
		held.isDeciding = true;
		const obstacle = await held.asked.check(evenIfChanged).catch((error: unknown) => SessionError.from(error).message);
		if (obstacle !== undefined) return held.end({ state: "expired", decidedBy: by.name, note: obstacle });
		return held.end({ state: "granted", ...said });
	}

	/** Nobody will decide here any more. */
	close(): void {
		this.#isClosed = true;
		for (const { end } of [...this.#held.values()]) end({ state: "withdrawn", note: "the server is shutting down" });
	}

	#end(approval: Approval, ending: Ending): Approval {
		const ended = { ...approval, ...ending, endedAt: this.#options.clock.now() };
		this.#held.delete(approval.id);
		this.#ended.set(approval.id, ended);
		for (const id of [...this.#ended.keys()].slice(0, -REMEMBERED)) this.#ended.delete(id);
		this.#listeners.tell(ended);
		return ended;
	}

	#checkRoom(account: string): void {
		const own = [...this.#held.values()].filter(({ asked }) => asked.account === account).length;
		if (own < HELD_EACH && this.#held.size < HELD_ALL) return;
		const whose = own < HELD_EACH ? `${HELD_ALL} acts` : `${HELD_EACH} acts of this token`;
		throw new SessionError("limit_exceeded", `${whose} wait to be approved, which is all that may`, {
			hint: "wait until somebody has decided on one of them",
		});
	}
}

/** Who may operate the session, and who asked. */
export function mayKnow(by: Principal, { session, by: asker }: Approval): boolean {
	return by.id === asker.id || by.may("operate", { workspace: session.workspace, session: session.id });
}

/**
 * Nobody who has a gate decides: neither who asked, nor any token that it made, which all have its gate, nor another
 * that is not trusted alone either.
 */
function mayDecide(by: Principal, { session }: Approval): boolean {
	return by.gate === null && by.may("operate", { workspace: session.workspace, session: session.id });
}

function checkMayDecide(by: Principal, approval: Approval): void {
	if (mayDecide(by, approval)) return;
	const why = by.gate === null ? "may not operate the session" : "needs approval itself, so that it can't give it";
	throw new SessionError("permission_denied", `this token ${why}`, {
		hint: "somebody else has to decide: a token without a gate, with the right to operate the session",
	});
}
