/**
 * Actions that are held until another caller decides on them. They exist only in this process. When it ends, for
 * whatever reason, none of them is ever performed.
 */

import { Budget } from "../async/budget.ts";
import type { Clock } from "../async/clock.ts";
import { Listeners } from "../async/listeners.ts";
import { SessionError } from "../errors.ts";
import { isEnded } from "../log/session-state.ts";
import type { Session } from "../session/session.ts";
import type { Principal } from "./access.ts";

/**
 * Actions that wait for a decision: as many as users review. The operator's own token has no gate.
 * @limit held actions | `limit_exceeded`
 */
const HELD = {
	what: "actions waiting for approval",
	operator: 0,
	others: 256,
	each: 8,
	fair: 1,
	accounts: 64,
	hint: "wait until one of them is decided",
};
/**
 * Ended approvals remembered, so that their outcome can be queried.
 * @limit decided actions that are remembered | the oldest is forgotten
 */
const REMEMBERED = 200;

type ApprovalState = "asked" | "granted" | "denied" | "expired" | "withdrawn";

export type Approval = {
	readonly id: string;
	/** The session it applies to: for a `start` the future one, for a `store` `task:ID`, `pty:ID` or `session:ID`. */
	readonly session: { readonly id: string; readonly name: string | null; readonly workspace: string };
	/** The caller that wants it. */
	readonly by: { readonly id: string; readonly name: string };
	readonly kind: "start" | "store" | "run" | "input" | "signal" | "stop" | "delete" | "permission";
	/**
	 * Why it is held: an expression matches, its keys or its command can't be interpreted, or such actions are always
	 * held.
	 */
	readonly reason: "match" | "unreadable" | "always";
	/** Printable text of the action, shortened in the middle if it is long. */
	readonly preview: string;
	/** Hash of the exact bytes, in hex. */
	readonly sha256: string;
	/** End of the output and fence of the lease at the request; null if there is no session yet. */
	readonly offset: number | null;
	readonly fence: number | null;
	readonly askedAt: number;
	readonly expiresAt: number;
	readonly state: ApprovalState;
	/** Set once it is no longer `asked`: when, by which caller, and a note from that caller or from us. */
	readonly endedAt?: number;
	readonly decidedBy?: string;
	readonly note?: string;
};

export type ApprovalRequest = Pick<
	Approval,
	"session" | "by" | "kind" | "reason" | "preview" | "sha256" | "offset" | "fence"
> & {
	readonly account: string;
	readonly timeoutMs: number;
	/** The approval expires when this session ends. Undefined for a start, a store and a delete. */
	readonly target: Session | undefined;
	/** After approval, the reason why the action may no longer be performed, if there is one. */
	readonly check: (evenIfChanged: boolean) => Promise<string | undefined>;
	/**
	 * For an action without a waiting caller: does what was decided, before the decision is reported. Resolves with the
	 * reason if that failed.
	 */
	readonly carryOut?: (decision: Decision["decision"], by: Principal) => Promise<string | undefined>;
	/** Why it is withdrawn when its signal aborts. Default: its caller has disconnected. */
	readonly goneNote?: string;
};

type Decision = {
	readonly decision: "grant" | "deny";
	readonly note?: string | undefined;
	/** Grant even if there was more output since. */
	readonly evenIfChanged?: boolean | undefined;
};

type Ending = Pick<Approval, "decidedBy" | "note"> & { readonly state: Exclude<ApprovalState, "asked"> };

type Held = {
	readonly approval: Approval;
	readonly request: ApprovalRequest;
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
	readonly #budget = new Budget(HELD);
	#isClosed = false;

	constructor(options: ApprovalsOptions) {
		this.#options = options;
	}

	/** Calls back at each request and when it has ended. The returned function ends this. */
	watch(listener: (approval: Approval) => void): () => void {
		return this.#listeners.add(listener);
	}

	/** Number of held actions on a session. */
	count(session: string): number {
		return this.heldOn(session).length;
	}

	heldOn(session: string): readonly Approval[] {
		return [...this.#held.values()].map(({ approval }) => approval).filter((one) => one.session.id === session);
	}

	/** Pending approvals that the caller may see, oldest first. */
	list(by: Principal): readonly Approval[] {
		return [...this.#held.values()].map(({ approval }) => approval).filter((one) => mayKnow(by, one));
	}

	/** An approval that is pending or has ended recently. */
	get(by: Principal, id: string): Approval {
		const found = this.#held.get(id)?.approval ?? this.#ended.get(id);
		if (found && mayKnow(by, found)) return found;
		throw new SessionError("not_found", `there is no approval ${JSON.stringify(id.slice(0, 64))}`, {
			hint: "it was forgotten, or the server was restarted, which drops held actions",
		});
	}

	/**
	 * Holds an action until it is decided or expires. It is withdrawn when the signal aborts, because no caller waits for
	 * it.
	 */
	async hold(
		request: ApprovalRequest,
		gone: AbortSignal | undefined,
		onAsked: (approval: Approval) => void,
	): Promise<Approval> {
		if (this.#isClosed) throw new SessionError("node_unavailable", "the server is shutting down");
		const leave = this.#budget.enter({ account: request.account, isAdmin: false });
		const { clock, newId } = this.#options;
		const { session, by, kind, reason, preview, sha256, offset, fence, timeoutMs, target } = request;
		const { goneNote = "the caller has disconnected" } = request;
		const askedAt = clock.now();
		const about = { session, by, kind, reason, preview, sha256, offset, fence };
		const approval: Approval = { id: newId(), ...about, askedAt, expiresAt: askedAt + timeoutMs, state: "asked" };
		return new Promise((resolve) => {
			const end = (ending: Ending) => {
				held.outcome ??= this.#end(approval, ending);
				leave();
				cancelTimer();
				unwatch?.();
				gone?.removeEventListener("abort", withdraw);
				resolve(held.outcome);
				return held.outcome;
			};
			const held: Held = { approval, request, end, isDeciding: false, outcome: undefined };
			const withdraw = () => end({ state: "withdrawn", note: goneNote });
			const cancelTimer = clock.after(timeoutMs, () => end({ state: "expired", note: "not decided in time" }));
			const expire = () => end({ state: "expired", note: "the session has ended" });
			const unwatch = target?.watch((state) => {
				if (isEnded(state)) expire();
			});
			this.#held.set(approval.id, held);
			onAsked(approval);
			this.#listeners.notify(approval);
			gone?.addEventListener("abort", withdraw, { once: true });
			// These may have happened before the listeners were added.
			if (gone?.aborted) withdraw();
			if (target && isEnded(target.state)) expire();
		});
	}

	/** Decides an approval. A granted one may turn out as expired, because the session has changed. */
	async decide(by: Principal, id: string, { decision, note, evenIfChanged = false }: Decision): Promise<Approval> {
		const approval = this.get(by, id);
		checkMayDecide(by, approval);
		const held = this.#held.get(id);
		if (!held || held.isDeciding) {
			const outcome = held ? "it is being granted" : approval.state;
			throw new SessionError("conflict", `approval ${id} was decided already: ${outcome}`);
		}
		const decided = { decidedBy: by.name, ...(note === undefined ? {} : { note }) };
		const { check, carryOut } = held.request;
		if (decision === "deny" && !carryOut) return held.end({ state: "denied", ...decided });
		// Only once: another decision would be about an action that is already done.
		held.isDeciding = true;
		const findObstacle = async () =>
			(decision === "grant" ? await check(evenIfChanged) : undefined) ?? (await carryOut?.(decision, by));
		const obstacle = await findObstacle().catch((error: unknown) => SessionError.from(error).message);
		if (obstacle !== undefined) return held.end({ state: "expired", decidedBy: by.name, note: obstacle });
		return held.end({ state: decision === "grant" ? "granted" : "denied", ...decided });
	}

	/** Withdraws all pending approvals and refuses new ones. */
	close(): void {
		this.#isClosed = true;
		for (const { end } of [...this.#held.values()]) end({ state: "withdrawn", note: "the server is shutting down" });
	}

	#end(approval: Approval, ending: Ending): Approval {
		const ended = { ...approval, ...ending, endedAt: this.#options.clock.now() };
		this.#held.delete(approval.id);
		this.#ended.set(approval.id, ended);
		for (const id of [...this.#ended.keys()].slice(0, -REMEMBERED)) this.#ended.delete(id);
		this.#listeners.notify(ended);
		return ended;
	}
}

/** Approvals are visible to callers that may operate the session, and to the one that asked. */
export function mayKnow(by: Principal, { session, by: asker }: Approval): boolean {
	return by.id === asker.id || by.may("operate", { workspace: session.workspace, session: session.id });
}

/**
 * A caller with a gate can't decide: neither the one that asked, nor a token that it made, which has the same gate, nor
 * any other that is not trusted to act alone.
 */
function mayDecide(by: Principal, { session }: Approval): boolean {
	return by.gate === null && by.may("operate", { workspace: session.workspace, session: session.id });
}

function checkMayDecide(by: Principal, approval: Approval): void {
	if (mayDecide(by, approval)) return;
	const why = by.gate === null ? "may not operate the session" : "needs approval itself and can't give it";
	throw new SessionError("permission_denied", `this token ${why}`, {
		hint: "a token without a gate and with the right to operate the session can decide",
	});
}
