/** The cost of a sandbox: `true` with and without one. */

import type { Case, Variant } from "../case.ts";
import type { SandboxInput } from "../programs/sandbox.ts";

export function sandboxCase(isQuick: boolean): Case {
	const runs = isQuick ? 50 : 200;
	const variant = (name: string, policy: SandboxInput["policy"]): Variant => ({
		name,
		measure: (workshop) => workshop.child("sandbox", { policy, runs } satisfies SandboxInput),
	});
	const p50 = (name: string, atMost: number) => ({
		title: `${name}, p50 ms`,
		value: (round: (variant: string, metric: string) => number) => round(name, "p50"),
		digits: 1,
		atMost,
	});
	return {
		name: "sandbox",
		title: "`true` on pipes from the request to its end, plain and in a sandbox",
		note: `in process, one after the other, ${runs} times each. Measured earlier for codex-cli 0.166.0: 46 ms read-only, 110 ms workspace-write`,
		rounds: { full: 3, quick: 1 },
		metrics: [
			{ key: "p50", title: "p50 ms", digits: 2 },
			{ key: "p99", title: "p99 ms", digits: 2 },
			{ key: "max", title: "max ms", digits: 2 },
		],
		bars: [p50("plain", 10), p50("read-only", 25), p50("workspace-write", 25)],
		variants: [
			variant("plain", "dangerFullAccess"),
			variant("read-only", "readOnly"),
			variant("workspace-write", "workspaceWrite"),
		],
	};
}
