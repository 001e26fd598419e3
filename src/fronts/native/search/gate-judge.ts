/**
 * Says whether what somebody with a gate wants to do matches. Most expressions are plain texts, which are looked for
 * here; the others are tried in one process that can be killed, on one text at a time, and callers take turns.
 */

import { SessionError } from "../../../core/errors.ts";
import { EVERYTHING, type Judge, type Judgement } from "../../../core/gate.ts";
import { Places } from "../../places.ts";
import { taskFor } from "./gate-expressions.ts";
import { BATCH_MS, SearchProcess } from "./process.ts";

/** What is judged at most, in UTF-16 units, so that a process has memory for it: more than anybody looks through. */
const LONGEST_JUDGED: number = 4 * 1024 ** 2;
/** How many texts may wait to be judged: as many of one account as may be held, and no more than are judged in minutes, however dear they are. */
const WAITING = { each: 8, all: 64 };
/** How long the process is kept when there is nothing to judge: an agent that works types more often. */
const IDLE_MS = 30_000;
/** For how long one process judges, in all: with one more that is too dear that is less than a process may compute at all. */
const LONGEST_USE_MS = 5_000;

const LITERAL = /^[^\\^$.*+?()[\]{}|/]*$/;

export class GateJudge {
	readonly #places = new Places(WAITING, tooMany);
	/** What waits, by account, in the order of their turns; an account is there while it has its turn, too. */
	readonly #waiting = new Map<string, (() => Promise<void>)[]>();
	#process: SearchProcess | undefined;
	#usedMs = 0;
	#idle: NodeJS.Timeout | undefined;
	#isBusy = false;
	readonly #closing = new AbortController();

	/** Rejects with `limit_exceeded` when too much of the caller's, or of everybody's, waits already. */
	readonly judge: Judge = async (account, expressions, text) => {
		if (expressions.some((one) => one === EVERYTHING || (LITERAL.test(one) && text.includes(one)))) return "match";
		const others = expressions.filter((one) => !LITERAL.test(one));
		if (others.length === 0) return undefined;
		if (text.length > LONGEST_JUDGED) return "unreadable";
		const giveBack = this.#places.take({ account });
		try {
			return await this.#inTurn(account, () => this.#try(others, text));
		} finally {
			giveBack();
		}
	};

	/** Nothing is judged any more. */
	close(): void {
		this.#closing.abort();
		this.#endProcess();
	}

	#inTurn(account: string, act: () => Promise<Judgement>): Promise<Judgement> {
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
			// Its next turn comes after those of all who wait by now.
			this.#waiting.delete(account);
			if (own.length > 0) this.#waiting.set(account, own);
		}
		this.#isBusy = false;
		this.#idle = setTimeout(() => this.#endProcess(), IDLE_MS).unref();
	}

	async #try(expressions: readonly string[], text: string): Promise<Judgement> {
		const { signal } = this.#closing;
		const begin = performance.now();
		try {
			const task = { ...taskFor(expressions), isExact: true };
			if (this.#process) this.#process.turnTo(task);
			else this.#process = new SearchProcess(task);
			const batch = { bytes: Buffer.from(text), marks: [], isLast: true };
			const { isFull } = await this.#process.ask(batch, { signal, where: "what is typed" });
			// The rest was its start.
			this.#usedMs += Math.min(performance.now() - begin, BATCH_MS);
			if (this.#usedMs > LONGEST_USE_MS) this.#endProcess();
			return isFull ? "match" : undefined;
		} catch (error) {
			this.#endProcess();
			// What can't be judged, because that takes too long or no process can be had, is for somebody to look at.
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

function tooMany(): SessionError {
	return new SessionError("limit_exceeded", "too much waits to be judged by the expressions of gates", {
		hint: "do one thing after the other",
	});
}
