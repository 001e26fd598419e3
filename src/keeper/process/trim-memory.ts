/**
 * Returns memory to the system after a flood of output. A keeper lives as long as its session, and after one flood the
 * allocator holds several times what an idle keeper needs.
 */

import type { Clock } from "../../core/async/clock.ts";
import type { Log } from "../../core/log/log.ts";

/** A smaller flood leaves too little behind. */
const FLOOD_BYTES = 4 * 1024 * 1024;
/** By then V8 has freed the flood's chunks. */
const QUIET_MS = 10_000;

/** Runs until the log's last event. Sleeps while nothing happens. */
export async function trimMemoryAfterFloods(log: Log, clock: Clock, trimMemory: () => void): Promise<void> {
	let trimmedAt = log.end.offset;
	while (!log.isFinished) {
		await log.changed();
		for (let before = -1; before !== log.end.offset; ) {
			before = log.end.offset;
			await new Promise<void>((resolve) => clock.after(QUIET_MS, resolve));
		}
		if (log.end.offset - trimmedAt < FLOOD_BYTES) continue;
		trimmedAt = log.end.offset;
		trimMemory();
	}
}
