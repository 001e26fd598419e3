/** Sessions for pages to show, as a program makes them. */

import { type Client, type CreateSession, connect, type KnownSession } from "../../src/client/index.ts";

export type Address = { readonly url: string; readonly adminToken: string };

export function clientOf({ url, adminToken: token }: Address): Client {
	return connect({ url, token });
}

/** One in the server's own process. */
export function create(server: Address, request: CreateSession): Promise<KnownSession> {
	return clientOf(server).sessions.create({ durable: false, ...request });
}

/** What it has written, as text. */
export async function journalOf(session: KnownSession): Promise<string> {
	let text = "";
	const decoder = new TextDecoder();
	for (let since = 0; ; ) {
		const { bytes, next, end } = await session.output(since);
		text += decoder.decode(bytes, { stream: true });
		if (next >= end) return text;
		since = next;
	}
}

/** Says back each line that it gets, between brackets, and does not echo. */
export const REPEATER = 'stty -echo; echo ready; while read -r line; do echo "<$line>"; done';
