/** A wait that ends early, without an error, when the signal aborts. */

import { setTimeout } from "node:timers/promises";

export async function pause(ms: number, signal?: AbortSignal): Promise<void> {
	if (ms > 0 && !signal?.aborted) await setTimeout(ms, undefined, signal ? { signal } : {}).catch(() => {});
}
