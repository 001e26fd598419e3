/** The request to send input and wait, in the SDK and on the wire. */

import type { SendInput } from "../../api/types.ts";

type Until = NonNullable<SendInput["until"]>;

/** `match` may be a regular expression; of its flags only `i` applies. */
export type SendRequest = Omit<SendInput, "timeoutMs" | "until"> & {
	readonly until?: Omit<Until, "match" | "regex"> & { readonly match?: string | RegExp };
};

export function toSendInput({ until: { match, ...causes } = {}, ...input }: SendRequest): SendInput {
	if (match === undefined) return { ...input, until: causes };
	if (typeof match === "string") return { ...input, until: { ...causes, match } };
	const ignoreCase = causes.ignoreCase ?? match.ignoreCase;
	return { ...input, until: { ...causes, match: match.source, regex: true, ignoreCase } };
}
