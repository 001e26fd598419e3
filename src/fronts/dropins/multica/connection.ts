/** Serves one client of a terminal from `opened` to its end, over either socket. */

import type { Principal } from "../../../core/policy/access.ts";
import type { AuditedCaller } from "../../../core/policy/audited-caller.ts";
import type { Session } from "../../../core/session/session.ts";
import type { Task } from "../../../core/session/workspaces.ts";
import { addReader, checkRight } from "../../../http/caller.ts";
import type { ServerContext } from "../../../http/front.ts";
import type { InputSource } from "../../../services/input/client-input.ts";
import { openedFrame } from "./messages.ts";
import { type Ending, replayStart, Terminal } from "./terminal-stream.ts";
import type { TerminalControl, Terminals } from "./terminals.ts";

type Attendance = {
	readonly session: Session;
	/** Control over the terminal; undefined for a viewer. */
	readonly hold: TerminalControl | undefined;
	readonly principal: Principal;
	/** Performs and audits the client's actions. */
	readonly witness: AuditedCaller;
	readonly task: Task;
	readonly requestId: string;
	/** Output offset to resume from; chosen by the server if absent. */
	readonly since?: number | undefined;
	/** Sends one frame; resolves when another may be sent. */
	readonly send: (frame: string) => Promise<void>;
	/** The client's input. It ends when the client leaves. */
	readonly source: InputSource;
	readonly terminals: Terminals;
	readonly hosting: ServerContext;
	readonly resizeMs: number;
	/** Called after the client got `opened`. */
	readonly onOpened: (terminal: Terminal) => void;
};

/** Resolves when nothing is read from or written to this client any more. */
export async function serveClient(attendance: Attendance): Promise<Ending> {
	const { hold, source } = attendance;
	const over = new AbortController();
	let isKnown = false;
	const leave = () => {
		over.abort();
		// The client never learned of this shell, so it can't return to it.
		if (hold?.isNew && !isKnown) hold.discard();
		else hold?.leave();
	};
	// Immediately, so that a returning client finds the terminal free.
	source.ended.addEventListener("abort", leave, { once: true });
	try {
		if (source.ended.aborted) return "left";
		return await serve(attendance, over, () => {
			isKnown = true;
		});
	} finally {
		source.ended.removeEventListener("abort", leave);
		leave();
	}
}

async function serve(attendance: Attendance, over: AbortController, onKnown: () => void): Promise<Ending> {
	const { session, hold, principal, witness, task, requestId, send, source, terminals, hosting, resizeMs } = attendance;
	const place = { workspace: session.spec.workspace, session: session.id };
	checkRight({ principal, witness }, "read", place);
	const giveBack = addReader({ principal, witness }, place, hosting, "attach");
	try {
		const known = hold?.isNew ? 0 : attendance.since;
		const beginning = known === undefined ? await replayStart(session) : { offset: known, isAnywhere: false };
		const input = { ended: over.signal, pause: () => source.pause(), resume: () => source.resume() };
		const isViewer = hold === undefined;
		const terminal = await Terminal.open({
			session,
			witness,
			terminals,
			principal,
			send,
			input,
			isViewer,
			resizeMs,
		});
		try {
			const resumed = hold?.isNew ? {} : ({ resumed: true } as const);
			const names = { request_id: requestId, session_id: session.id };
			await send(openedFrame({ ...names, work_dir: task.workDir, shell: "bash", ...resumed }));
			if (over.signal.aborted) return "left";
			onKnown();
			attendance.onOpened(terminal);
			return await terminal.run(beginning);
		} finally {
			over.abort();
			await terminal.finish();
		}
	} finally {
		giveBack();
	}
}
