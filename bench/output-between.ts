/** The output of a session between two offsets. */

import type { Session } from "../src/core/session/session.ts";

export async function outputBetween(
	session: Session,
	{ from, to }: { readonly from: number; readonly to: number },
): Promise<Uint8Array> {
	const pieces: Uint8Array[] = [];
	if (from === to) return new Uint8Array();
	for await (const item of session.follow({ offset: from })) {
		if (item.kind !== "output") continue;
		pieces.push(item.bytes.subarray(0, to - item.offset));
		if (item.offset + item.bytes.byteLength >= to) break;
	}
	return Buffer.concat(pieces);
}
