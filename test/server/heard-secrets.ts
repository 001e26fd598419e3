/** What the feed says of secrets, for tests that compare it with what happened. */

import type { Client, FeedEvent } from "../../src/client/index.ts";

export type SecretNews = NonNullable<FeedEvent["secret"]>;

/** Resolves once everything from now on is heard, with where it is put. */
export async function heardOf(client: Client, signal: AbortSignal): Promise<readonly SecretNews[]> {
	const heard: SecretNews[] = [];
	const events = client.events({ signal });
	// What comes first says only from where on it tells.
	await events.next();
	void (async () => {
		for await (const item of events) if (item.kind === "event" && item.event.secret) heard.push(item.event.secret);
	})();
	return heard;
}
