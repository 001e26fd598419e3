/**
 * Memory for bytes that are to be overwritten once they were used. Small arrays are in the heap of JavaScript, where
 * whoever looks at their memory, and the collector, make copies that nobody can reach any more; these are not.
 */
export function outsideHeap(length: number): Buffer {
	return Buffer.from(new ArrayBuffer(length));
}
