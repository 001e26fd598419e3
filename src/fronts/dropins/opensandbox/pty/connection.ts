/**
 * Serves the holder of a PTY on its WebSocket, from handshake to close.
 *
 *   client                          server
 *     │                               │  starts a program unless one runs
 *     │◄──────── [replay] ────────────┤  output up to now
 *     │◄──────── connected ───────────┤
 *     │◄──────── output ──────────────┤  live output of the same reader
 *     ├── stdin, signal, resize ─────►│  in order, also before `connected`
 *     │◄──────── exit, close 1000 ────┤  after all output
 */

import { SessionError } from "../../../../core/errors.ts";
import type { AuditedCaller } from "../../../../core/policy/audited-caller.ts";
import { chunksOf, outputFrame, replayFrame } from "../messages.ts";
import type { SocketInput } from "../socket/input.ts";
import { closeCodes, sendExit, sendStartFailed, type Wire } from "../wire.ts";
import type { PtyAttachment, PtyRecord } from "./record.ts";

type PtyConnectionOptions = {
	readonly record: PtyRecord;
	readonly wire: Wire;
	readonly controls: SocketInput;
	readonly since: number;
	/** Mode of the program, if this connection starts it. */
	readonly mode: "pty" | "pipe";
	/** Throws if the caller may not start a program now. */
	readonly allow: () => void;
	/** Performs and audits the connection's actions. */
	readonly witness: AuditedCaller;
	readonly report: (problem: unknown) => void;
};

/** Resolves when the connection is over and nothing reads or writes for it. Never rejects. */
export async function serveWriter(options: PtyConnectionOptions): Promise<void> {
	const { record, wire, controls, since } = options;
	// It may have been evicted before it began.
	if (wire.ended.aborted) return;
	if (!(await isStarted(options))) return;
	try {
		// The protocol cannot report "later", so a writer waits for an unresponsive keeper while it stays connected.
		await record.untilReachable(wire.ended);
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
		await sendStartFailed(wire, thrown, report);
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
		if (item.kind === "exit") await sendExit(wire, item.code);
		// The protocol can't report a gap in live output, so the client must reconnect for a replay.
		else if (item.kind === "gap") wire.close(closeCodes.failed, "output was lost");
		else for (const chunk of chunksOf(item.bytes)) await wire.send(outputFrame(item.channel, chunk));
	}
}

/** Ends a connection whose output could not be read to the end. */
async function endWithout(thrown: unknown, { record, wire, report }: PtyConnectionOptions): Promise<void> {
	const error = SessionError.from(thrown);
	// Deleting a PTY kills its program first.
	if (record.isClosing || error.code === "session_not_found") await sendExit(wire, -1);
	// The client did not read while the program waited for it.
	else if (error.code === "limit_exceeded") wire.drop();
	else if (error.code === "node_unavailable") wire.close(closeCodes.goingAway, error.message);
	else if (!wire.ended.aborted) report(thrown);
}
