/** Compares prompts with the operator's expressions. The prompt is a program's, which may have chosen one that takes years. */

import { createContext, Script } from "node:vm";
import { SessionError } from "../core/errors.ts";

/** A thousand times what a match takes; the whole server waits for it. */
const MATCH_MS = 100;
/** A machine that is busy with something else may take as long once. */
const TRIES = 2;

/** Only what runs by the machine for scripts can be stopped. */
const match = new Script("expression.test(prompt)");
const place: { expression?: RegExp; prompt?: string } = createContext({});

/** Throws for what is no expression. It stands for the whole of a prompt. */
export function wholePrompt(expression: string): RegExp {
	return new RegExp(`^(?:${expression})$`);
}

/** Throws `limit_exceeded` when it takes too long. */
export function isPrompt(expression: RegExp, prompt: string): boolean {
	Object.assign(place, { expression, prompt });
	let late: unknown;
	for (let tries = 0; tries < TRIES; tries++) {
		try {
			return match.runInContext(place, { timeout: MATCH_MS }) === true;
		} catch (error) {
			late = error;
		}
	}
	throw new SessionError("limit_exceeded", "its expression takes too long for this prompt", { cause: late });
}
