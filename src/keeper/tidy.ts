/**
 * Gives memory back once a flood of output is over. A keeper lives for as long as its session, and what the
 * allocator holds on to after one flood is several times what it needs when idle.
 */

import type { Clock } from "../core/clock.ts";
import type { Log } from "../core/log.ts";

/** Less leaves nothing behind that would be worth it. */
const FLOOD_BYTES = 4 * 1024 * 1024;
/** By then V8 has let go of the flood's chunks. */
const QUIET_MS = 10_000;

/** Until the log's last event. Sleeps while nothing happens. */
export async function tidyAfterFloods(log: Log, clock: Clock, trimMemory: () => void): Promise<void> {
	let tidied = log.end.offset;
	while (!log.isFinished) {
		await log.changed();
		for (let before = -1; before !== log.end.offset; ) {
			before = log.end.offset;
			await new Promise<void>((resolve) => clock.after(QUIET_MS, resolve));
		}
		if (log.end.offset - tidied < FLOOD_BYTES) continue;
		tidied = log.end.offset;
		trimMemory();
	}
}
