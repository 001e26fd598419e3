/** The feed's events about secrets, for tests that compare them with what happened. */

import type { Client, FeedEvent } from "../../../src/client/index.ts";

export type SecretNews = NonNullable<FeedEvent["secret"]>;

/** Resolves once the feed is connected, with the list that receives its events. */
export async function collectSecretEvents(client: Client, signal: AbortSignal): Promise<readonly SecretNews[]> {
	const heard: SecretNews[] = [];
	const events = client.events({ signal });
	// The first message only states the position.
	await events.next();
	void (async () => {
		for await (const item of events) if (item.kind === "event" && item.event.secret) heard.push(item.event.secret);
	})();
	return heard;
}
