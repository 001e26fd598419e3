/**
 * Reports approvals to a conversation whose token has a gate: progress while an action is held, and the approver
 * afterwards.
 */

import type { Call } from "./call.ts";

/** Same interval as other waits: clients give up after a minute without progress. */
const PROGRESS_MS = 10_000;

export async function withApprovalProgress(call: Call, work: Promise<string>): Promise<string> {
	if (call.principal.gate === null) return work;
	const { timeoutMs } = call.principal.gate;
	const timer = setInterval(() => {
		if (!call.witness.isHeld) return;
		const progress = call.elapsedMs() / 1000;
		call.onProgress({ progress, total: Math.round(timeoutMs / 1000), message: "waiting for approval by a person" });
	}, call.options.progressMs ?? PROGRESS_MS);
	try {
		const text = await work;
		const granted = call.witness.granted.map(({ kind, decidedBy, note }) => {
			return `[this ${kind} was approved by ${decidedBy}${note === undefined ? "" : `: ${note}`}]`;
		});
		return [...granted, text].join("\n");
	} finally {
		clearInterval(timer);
	}
}
