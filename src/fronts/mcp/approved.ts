/** What a conversation whose token has a gate hears of that: that it is waited for, and who approved what was done. */

import type { Call } from "./call.ts";

/** As often as of every other wait: clients give up after a minute in which they hear nothing. */
const PROGRESS_MS = 10_000;

export async function tellingApprovals(call: Call, work: Promise<string>): Promise<string> {
	if (call.principal.gate === null) return work;
	const { timeoutMs } = call.principal.gate;
	const timer = setInterval(() => {
		if (!call.witness.isHeld) return;
		const progress = call.elapsedMs() / 1000;
		call.onProgress({ progress, total: Math.round(timeoutMs / 1000), message: "waits until a person approves it" });
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
