/**
 * Matches actions against the expressions of gates. Plain texts are compared here. Regular expressions run in one
 * process that can be killed, one text at a time; callers take turns.
 */

import { Budget } from "../../core/async/budget.ts";
import { SessionError } from "../../core/errors.ts";
import { EVERYTHING, type GateMatch, type GateMatcher } from "../../core/policy/gate.ts";
import { BATCH_MS, SearchProcess } from "../search/search-process.ts";
import { taskFor } from "./expressions.ts";

/**
 * Longest text that is matched, in UTF-16 units, so that the process has enough memory.
 * @limit text that the expressions of a gate judge | % characters | it is held
 */
const LONGEST_JUDGED: number = 4 * 1024 ** 2;
/**
 * Texts waiting to be matched. One account may have as many as it may have held actions; all of them take minutes at worst.
 * @limit texts that wait to be judged | `limit_exceeded`
 */
const WAITING = {
	what: "waiting texts for gate expressions",
	operator: 8,
	others: 64,
	each: 8,
	fair: 2,
	accounts: 24,
	hint: "send fewer actions at a time",
};
/**
 * The process ends after this time without work. A working agent types more often.
 * @limit the process that judges, without work | it ends
 */
const IDLE_MS = 30_000;
/** Total time that one process is used. With one more expensive text it stays below the process's CPU limit. */
const LONGEST_USE_MS = 5_000;

/** The account of the operator's own token. */
const OPERATOR = "admin";

const LITERAL = /^[^\\^$.*+?()[\]{}|/]*$/;

export class GateJudge {
	readonly #slots = new Budget(WAITING);
	/** Waiting texts by account, in the order of their turns. The account whose turn it is stays in the map. */
	readonly #waiting = new Map<string, (() => Promise<void>)[]>();
	#process: SearchProcess | undefined;
	#usedMs = 0;
	#idle: NodeJS.Timeout | undefined;
	#isBusy = false;
	readonly #closing = new AbortController();

	/** Rejects with `limit_exceeded` when too many texts of this caller, or of all callers, are waiting. */
	readonly judge: GateMatcher = async (account, expressions, text) => {
		if (expressions.some((one) => one === EVERYTHING || (LITERAL.test(one) && text.includes(one)))) return "match";
		const others = expressions.filter((one) => !LITERAL.test(one));
		if (others.length === 0) return undefined;
		if (text.length > LONGEST_JUDGED) return "unreadable";
		const giveBack = this.#slots.enter({ account, isAdmin: account === OPERATOR });
		try {
			return await this.#inTurn(account, () => this.#try(others, text));
		} finally {
			giveBack();
		}
	};

	/** Stops matching. */
	close(): void {
		this.#closing.abort();
		this.#endProcess();
	}

	#inTurn(account: string, act: () => Promise<GateMatch>): Promise<GateMatch> {
		return new Promise((resolve, reject) => {
			const own = this.#waiting.get(account) ?? [];
			own.push(() => act().then(resolve, reject));
			this.#waiting.set(account, own);
			if (!this.#isBusy) void this.#work();
		});
	}

	async #work(): Promise<void> {
		this.#isBusy = true;
		clearTimeout(this.#idle);
		for (const [account, own] of this.#waiting) {
			await own.shift()?.();
			// Its next turn comes after all accounts that wait now.
			this.#waiting.delete(account);
			if (own.length > 0) this.#waiting.set(account, own);
		}
		this.#isBusy = false;
		this.#idle = setTimeout(() => this.#endProcess(), IDLE_MS).unref();
	}

	async #try(expressions: readonly string[], text: string): Promise<GateMatch> {
		const { signal } = this.#closing;
		const begin = performance.now();
		try {
			const task = { ...taskFor(expressions), isExact: true };
			if (this.#process) this.#process.turnTo(task);
			else this.#process = new SearchProcess(task);
			const batch = { bytes: Buffer.from(text), marks: [], isLast: true };
			const { isFull } = await this.#process.ask(batch, { signal, where: "the typed text" });
			// Any further time was the start of the process.
			this.#usedMs += Math.min(performance.now() - begin, BATCH_MS);
			if (this.#usedMs > LONGEST_USE_MS) this.#endProcess();
			return isFull ? "match" : undefined;
		} catch (error) {
			this.#endProcess();
			// An expression that takes too long, or a process that can't start, leaves the decision to a user.
			if (error instanceof SessionError) return "unreadable";
			throw error;
		}
	}

	#endProcess(): void {
		this.#process?.end();
		this.#process = undefined;
		this.#usedMs = 0;
	}
}
