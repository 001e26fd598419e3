/** What a caller wants found, as an expression. */

import { SessionError } from "../../../core/errors.ts";
import type { Task } from "./process.ts";

export type Wanted = {
	readonly text: string;
	/** Else it is taken to the letter. */
	readonly isExpression: boolean;
	readonly ignoreCase: boolean;
	readonly limit: number;
};

/** `name` is what the caller called it. */
export function taskOf(name: string, { text, isExpression, ignoreCase, limit }: Wanted): Task {
	const source = isExpression ? text : text.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&");
	const flags = ignoreCase ? "i" : "";
	try {
		new RegExp(source, flags);
	} catch (error) {
		throw new SessionError("invalid_argument", `${name}: ${error instanceof Error ? error.message : "no expression"}`);
	}
	return { source, flags, limit, isLiteral: !isExpression };
}
