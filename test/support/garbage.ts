/** Counts which of some objects are still in memory after garbage collection. */

import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/** Counts the objects that are still referenced. The caller must not hold them itself. */
export async function reachable(objects: readonly WeakRef<object>[]): Promise<number> {
	setFlagsFromString("--expose-gc");
	const collect = runInNewContext("gc") as () => void;
	// An object whose weak reference was created or read stays alive until the turn ends.
	await new Promise<void>((resolve) => setImmediate(resolve));
	collect();
	return objects.filter((object) => object.deref() !== undefined).length;
}
