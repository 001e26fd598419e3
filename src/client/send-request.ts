/** What is typed, and what ends the wait after it, as programs say it and as it goes over the wire. */

import type { SendInput } from "../protocol/acts.ts";

type Until = NonNullable<SendInput["until"]>;

/** `match` may be an expression, of whose flags only `i` counts. */
export type SendRequest = Omit<SendInput, "timeoutMs" | "until"> & {
	readonly until?: Omit<Until, "match" | "regex"> & { readonly match?: string | RegExp };
};

export function toSendInput({ until: { match, ...causes } = {}, ...input }: SendRequest): SendInput {
	if (match === undefined) return { ...input, until: causes };
	if (typeof match === "string") return { ...input, until: { ...causes, match } };
	const ignoreCase = causes.ignoreCase ?? match.ignoreCase;
	return { ...input, until: { ...causes, match: match.source, regex: true, ignoreCase } };
}
