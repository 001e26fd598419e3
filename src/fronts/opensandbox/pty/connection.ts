/**
 * The holder of a PTY on its WebSocket, from the handshake to the close.
 *
 *   client                          server
 *     │                               │  starts a program, unless one runs
 *     │◄──────── [replay] ────────────┤  what there was when the reader began
 *     │◄──────── connected ───────────┤
 *     │◄──────── output ──────────────┤  the same reader goes on
 *     ├── stdin, signal, resize ─────►│  in order, whatever waits
 *     │◄──────── exit, close 1000 ────┤  after all output
 */

import { SessionError } from "../../../core/errors.ts";
import type { Witness } from "../../../core/witness.ts";
import type { Controls } from "../socket/controls.ts";
import { chunksOf, outputFrame, replayFrame } from "../socket/frames.ts";
import { closeCodes, sayExit, sayStartFailed, type Wire } from "../socket/wire.ts";
import type { PtyAttachment, PtyRecord } from "./record.ts";

type PtyConnectionOptions = {
	readonly record: PtyRecord;
	readonly wire: Wire;
	readonly controls: Controls;
	readonly since: number;
	/** Of the program, if this connection starts it. */
	readonly mode: "pty" | "pipe";
	/** Refuses to start one more program. */
	readonly allow: () => void;
	/** By whom all this is done. */
	readonly witness: Witness;
	readonly report: (problem: unknown) => void;
};

/** Resolves when the connection is over and nothing of it reads or writes any more. Never rejects. */
export async function hold(options: PtyConnectionOptions): Promise<void> {
	const { record, wire, controls, since } = options;
	// It may have been evicted before it began.
	if (wire.ended.aborted) return;
	if (!(await isStarted(options))) return;
	try {
		const attachment = await record.attach(since, { flow: "lossless", signal: wire.ended });
		const { id, spec } = attachment.session;
		const place = { workspace: spec.workspace, session: id };
		options.witness.record({ action: "attach" }, place);
		try {
			await serve(options, attachment);
		} finally {
			options.witness.record({ action: "detach" }, place);
			await attachment.reader.close();
		}
	} catch (error) {
		await endWithout(error, options);
	}
	wire.close(closeCodes.failed, "internal error");
	await controls.finish();
}

async function isStarted({ record, wire, mode, allow, witness, report }: PtyConnectionOptions): Promise<boolean> {
	try {
		await record.ensureRunning(mode, { allow, witness, signal: wire.ended });
		return true;
	} catch (thrown) {
		await sayStartFailed(wire, thrown, report);
		return false;
	}
}

async function serve(
	{ record, wire, controls, witness }: PtyConnectionOptions,
	{ session, reader }: PtyAttachment,
): Promise<void> {
	const replay = await reader.replay();
	await controls.open(witness.session(session), `opensandbox:${record.id}`, async () => {
		if (replay) await wire.send(replayFrame(replay.offset, replay.pieces));
		await wire.say({ type: "connected", session_id: record.id, mode: session.spec.mode, role: "holder" });
	});
	for await (const item of reader.live()) {
		if (item.kind === "exit") await sayExit(wire, item.code);
		// Nobody could tell a client where in its stream bytes are missing, so it must come back for a replay.
		else if (item.kind === "gap") wire.close(closeCodes.failed, "output was lost");
		else for (const chunk of chunksOf(item.bytes)) await wire.send(outputFrame(item.channel, chunk));
	}
}

/** The output could not be read to its end. */
async function endWithout(thrown: unknown, { record, wire, report }: PtyConnectionOptions): Promise<void> {
	const error = SessionError.from(thrown);
	// What was deleted was killed before.
	if (record.isClosing || error.code === "session_not_found") await sayExit(wire, -1);
	// It stood still while the program waited for it.
	else if (error.code === "limit_exceeded") wire.drop();
	else if (error.code === "node_unavailable") wire.close(closeCodes.goingAway, error.message);
	else if (!wire.ended.aborted) report(thrown);
}
