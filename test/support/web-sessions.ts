/** Sessions for pages to show, as a program creates them. */

import { type Client, type CreateSession, connect, type LoadedSession } from "../../src/client/index.ts";

export type Address = { readonly url: string; readonly adminToken: string };

export function clientOf({ url, adminToken: token }: Address): Client {
	return connect({ url, token });
}

/** One in the server's own process. */
export function create(server: Address, request: CreateSession): Promise<LoadedSession> {
	return clientOf(server).sessions.create({ durable: false, ...request });
}

/** Its output so far as text. */
export async function journalOf(session: LoadedSession): Promise<string> {
	let text = "";
	const decoder = new TextDecoder();
	for (let since = 0; ; ) {
		const { bytes, next, end } = await session.output(since);
		text += decoder.decode(bytes, { stream: true });
		if (next >= end) return text;
		since = next;
	}
}

/** Prints each line that it reads between brackets, and does not echo. */
export const REPEATER = 'stty -echo; echo ready; while read -r line; do echo "<$line>"; done';
