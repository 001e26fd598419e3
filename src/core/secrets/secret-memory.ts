/**
 * Memory for bytes that must be overwritten after use. Small typed arrays are in the JavaScript heap, where the garbage
 * collector copies them and leaves the old bytes behind. These are outside of it.
 */
export function allocateOffHeap(length: number): Buffer {
	return Buffer.from(new ArrayBuffer(length));
}
