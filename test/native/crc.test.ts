/** The journal's checksum, compared with published values, in both implementations. */

import { expect, test } from "vitest";
import { crc32c, crc32cByTable } from "../../src/native/addon.ts";

test("crc32c agrees with the published vectors, by instruction and by table, in pieces and from subarrays", () => {
	const digits = Buffer.from("123456789");
	const vectors: [Uint8Array, number][] = [
		[new Uint8Array(0), 0],
		[digits, 0xe3069283],
		// RFC 3720 B.4
		[new Uint8Array(32), 0x8a9136aa],
		[new Uint8Array(32).fill(255), 0x62a8ab43],
		[Uint8Array.from({ length: 32 }, (_, i) => i), 0x46dd794e],
		[Uint8Array.from({ length: 32 }, (_, i) => 31 - i), 0x113fdb5c],
	];
	for (const [bytes, sum] of vectors) expect([crc32c(bytes), crc32cByTable(bytes)]).toEqual([sum, sum]);
	expect(crc32c(digits.subarray(4), crc32c(digits.subarray(0, 4)))).toBe(0xe3069283);
	const noise = Uint8Array.from({ length: 1000 }, (_, i) => (i * 7919) >> 3);
	for (let at = 0; at < 40; at++) expect(crc32c(noise.subarray(at))).toBe(crc32cByTable(noise.subarray(at)));
	// Long inputs use lanes: none, one and several rounds, with every remainder.
	const long = Uint8Array.from({ length: 3 * 12_288 + 100 }, (_, i) => (i * i * 7919) >> 5);
	for (const rounds of [0, 1, 2, 3])
		for (let rest = -9; rest < 20; rest++) {
			const bytes = long.subarray(3, Math.max(3, 3 + rounds * 12_288 + rest));
			expect(crc32c(bytes, 0xdeadbeef)).toBe(crc32cByTable(bytes, 0xdeadbeef));
		}
});
