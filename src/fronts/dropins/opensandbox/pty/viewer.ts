/** Serves viewers of a PTY: any number, in addition to the holder. */

import { SessionError } from "../../../../core/errors.ts";
import { chunksOf, decodeFrame, replayFrame, type ServerMessage } from "../messages.ts";
import { closeCodes, sendExit, type Wire } from "../wire.ts";
import type { PtyRecord } from "./record.ts";
import type { StreamItem } from "./stream.ts";

/** Input attempts of a viewer. The last one closes its connection. */
const MAX_ATTEMPTS = 5;

const readOnly: ServerMessage = { type: "error", code: "READ_ONLY", error: "a viewer may only read" };

type ViewerOptions = {
	readonly record: PtyRecord;
	readonly wire: Wire;
	readonly since: number;
	readonly report: (problem: unknown) => void;
};

/** Resolves when the viewer has left. Never rejects. */
export async function serveViewer({ record, wire, since, report }: ViewerOptions): Promise<void> {
	answer(wire);
	try {
		// Live: a slow viewer skips output, which the offsets show, and delays nothing.
		const { session, reader } = await record.attach(since, { flow: "live", signal: wire.ended });
		try {
			const replay = await reader.replay();
			if (replay) await wire.send(replayFrame(replay.offset, replay.pieces));
			await wire.say({ type: "connected", session_id: record.id, mode: session.spec.mode, role: "viewer" });
			for await (const item of reader.live()) await show(wire, item);
		} finally {
			await reader.close();
		}
	} catch (thrown) {
		const { code, message } = SessionError.from(thrown);
		if (record.isClosing || code === "session_not_found") await sendExit(wire, -1);
		else if (code === "node_unavailable") wire.close(closeCodes.goingAway, message);
		else if (!wire.ended.aborted) report(thrown);
	}
	wire.close(closeCodes.failed, "internal error");
}

async function show(wire: Wire, item: StreamItem): Promise<void> {
	if (item.kind === "exit") await sendExit(wire, item.code);
	if (item.kind !== "output") return;
	let { offset } = item;
	for (const chunk of chunksOf(item.bytes)) {
		await wire.send(replayFrame(offset, [chunk]));
		offset += chunk.byteLength;
	}
}

function answer(wire: Wire): void {
	let attempts = 0;
	wire.onMessage((data, isBinary) => {
		const frame = decodeFrame(data, isBinary);
		if (frame.type === "nothing") return;
		if (frame.type === "ping") wire.answer({ type: "pong" });
		else if (frame.type === "unknown") wire.answer(frame.answer);
		else {
			wire.answer(readOnly);
			if (++attempts >= MAX_ATTEMPTS) wire.close(closeCodes.refused, "a viewer may only read");
		}
	});
}
