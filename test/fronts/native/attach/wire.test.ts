import { expect, it } from "vitest";
import { FrameBuffers } from "../../../../src/fronts/native/attach/wire.ts";

it("a large frame's memory is reused once it is released, and never before", () => {
	const buffers = new FrameBuffers(10_000);
	const part = (value: number) => new Uint8Array(8000).fill(value);
	const first = buffers.join([part(1), new Uint8Array([9])], 8001);
	const second = buffers.join([part(2)], 8000);
	expect(first.frame.equals(Buffer.concat([part(1), new Uint8Array([9])]))).toBe(true);
	expect(second.frame.buffer).not.toBe(first.frame.buffer);
	first.release();
	const third = buffers.join([part(3)], 8000);
	expect(third.frame.buffer).toBe(first.frame.buffer);
	expect(third.frame.equals(part(3))).toBe(true);
	expect(second.frame.equals(part(2))).toBe(true);
	expect(buffers.join([part(4), part(4)], 16_000).frame).toHaveLength(16_000);
});
