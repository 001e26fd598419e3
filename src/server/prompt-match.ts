/** Compares prompts with the operator's expressions. The prompt is a program's, which may have chosen one that takes years. */

import { createContext, Script } from "node:vm";
import { SessionError } from "../core/errors.ts";

/** A thousand times what a match takes; the whole server waits for it. */
const MATCH_MS = 50;

/** Only what runs by the machine for scripts can be stopped. */
const match = new Script("expression.test(prompt)");

/** Throws for what is no expression. It stands for the whole of a prompt. */
export function wholePrompt(expression: string): RegExp {
	return new RegExp(`^(?:${expression})$`);
}

/** Throws `limit_exceeded` when it takes too long. */
export function isPrompt(expression: RegExp, prompt: string): boolean {
	try {
		return match.runInContext(createContext({ expression, prompt }), { timeout: MATCH_MS }) === true;
	} catch (error) {
		throw new SessionError("limit_exceeded", `its expression takes too long for this prompt`, { cause: error });
	}
}
