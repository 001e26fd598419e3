/** One client at a terminal from `opened` to the end, whichever socket it came by. */

import type { Principal } from "../../core/access.ts";
import type { Session } from "../../core/session.ts";
import type { Witness } from "../../core/witness.ts";
import type { Task } from "../../core/workspaces.ts";
import { checkRight, type Hosting, takeReader } from "../front.ts";
import type { InputSource } from "../program-input.ts";
import { openedFrame } from "./frames.ts";
import { type Ending, replayStart, Terminal } from "./terminal.ts";
import type { Hold, Terminals } from "./terminals.ts";

type Attendance = {
	readonly session: Session;
	/** Control over it; who has none only looks. */
	readonly hold: Hold | undefined;
	readonly principal: Principal;
	/** Tells the audit what the client does. */
	readonly witness: Witness;
	readonly task: Task;
	readonly requestId: string;
	/** Where the client goes on in the output; where it seems best, if left out. */
	readonly since?: number | undefined;
	/** Sends one frame; resolves when more may be sent. */
	readonly send: (frame: string) => Promise<void>;
	/** What the client types comes from here; its end is the client's. */
	readonly source: InputSource;
	readonly terminals: Terminals;
	readonly hosting: Hosting;
	readonly resizeMs: number;
	/** Hears of the terminal once the client knows of it. */
	readonly onOpened: (terminal: Terminal) => void;
};

/** Resolves when nothing is read or written for this client any more. */
export async function attend(attendance: Attendance): Promise<Ending> {
	const { hold, source } = attendance;
	const over = new AbortController();
	let isKnown = false;
	const leave = () => {
		over.abort();
		// A shell that its client has not heard of is nobody's to come back to.
		if (hold?.isNew && !isKnown) hold.discard();
		else hold?.leave();
	};
	// At once, so that whoever comes back finds it free.
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
	const giveBack = takeReader({ principal, witness }, place, hosting, "attach");
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
