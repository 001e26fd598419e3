/** Which of some objects are still in memory, once everything that nobody refers to is gone. */

import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/** Counts those that something still refers to. The caller must not hold them itself. */
export async function reachable(objects: readonly WeakRef<object>[]): Promise<number> {
	setFlagsFromString("--expose-gc");
	const collect = runInNewContext("gc") as () => void;
	// What a weak reference was made for, or was asked for, stays until the turn is over.
	await new Promise<void>((resolve) => setImmediate(resolve));
	collect();
	return objects.filter((object) => object.deref() !== undefined).length;
}
