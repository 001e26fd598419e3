/** A token's gate: which of its actions wait for approval. */

export type Gate = {
	/** Expressions. A command or typed line in which one of them matches is held. */
	readonly match: readonly string[];
	/**
	 * When a line is judged: once it is ended or has unknown keys; or with each key, for programs that do not wait for
	 * Enter.
	 */
	readonly keys: "enter" | "all";
	/** Whether every signal is held, including those sent by keys. */
	readonly signals: boolean;
	/** Whether ending a program, also by a signal, and deleting a session are held. */
	readonly stops: boolean;
	/** An action held for this long is refused. */
	readonly timeoutMs: number;
};

/** Why an action is held: an expression matches, or the text can't be interpreted. Undefined if it is not held. */
export type GateMatch = "match" | "unreadable" | undefined;

/**
 * Matches the text of an account's action. Rejects with `limit_exceeded` if too many of its texts wait to be judged.
 */
export type GateMatcher = (account: string, expressions: readonly string[], text: string) => Promise<GateMatch>;

/**
 * Long enough for a user to decide, short enough that the situation is still the same.
 * @limit a held action, or as its gate says | `not_approved`
 */
export const GATE_TIMEOUT_MS: number = 5 * 60_000;
/** Matches every line, even an empty one. */
export const EVERYTHING = "^";

/** A gate that holds whatever either gate holds: for tokens made by a token with a gate. */
export function combineGates(one: Gate | null, other: Gate | null): Gate | null {
	if (!one || !other) return one ?? other;
	return {
		match: [...new Set([...one.match, ...other.match])],
		keys: one.keys === "all" || other.keys === "all" ? "all" : "enter",
		signals: one.signals || other.signals,
		stops: one.stops || other.stops,
		timeoutMs: Math.min(one.timeoutMs, other.timeoutMs),
	};
}
