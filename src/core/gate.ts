/** What a token does not do alone: which of its acts wait until somebody else has approved them. */

export type Gate = {
	/** Expressions: a command, or a line that is typed, in which one of them matches is held. */
	readonly match: readonly string[];
	/** When a line is looked at: once it is ended or has keys that only its program knows; or with each key, for programs that do not wait for Enter. */
	readonly keys: "enter" | "all";
	/** Whether every signal is held, those that keys send included. */
	readonly signals: boolean;
	/** Whether it is held to end a program, by a signal too, or to delete a session. */
	readonly stops: boolean;
	/** How long an act is held at most; it is refused then. */
	readonly timeoutMs: number;
};

/** Why something is held: an expression matches, or nobody can tell whether one does; undefined if none does. */
export type Judgement = "match" | "unreadable" | undefined;

/** Of what a caller of this account wants to do. Rejects with `limit_exceeded` if too much of its waits to be judged. */
export type Judge = (account: string, expressions: readonly string[], text: string) => Promise<Judgement>;

/** Long enough for somebody to look, and short enough that it is still about what they see. */
export const GATE_TIMEOUT_MS: number = 5 * 60_000;
/** A day: whoever waits longer does not wait for an answer. */
export const MAX_GATE_TIMEOUT_MS: number = 24 * 60 * 60_000;
/** Of one gate, and the length of each: all of them are tried on each line. */
export const MAX_EXPRESSIONS = 32;
export const MAX_EXPRESSION_LENGTH = 200;

/** Matches every line, the empty one too. */
export const EVERYTHING = "^";

/** A gate that holds whatever either of them does: what a token is given that was made by one that has a gate itself. */
export function both(one: Gate | null, other: Gate | null): Gate | null {
	if (!one || !other) return one ?? other;
	return {
		match: [...new Set([...one.match, ...other.match])],
		keys: one.keys === "all" || other.keys === "all" ? "all" : "enter",
		signals: one.signals || other.signals,
		stops: one.stops || other.stops,
		timeoutMs: Math.min(one.timeoutMs, other.timeoutMs),
	};
}
