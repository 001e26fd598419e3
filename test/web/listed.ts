/** Sessions as a list has them, for what is decided from that alone. */

import type { ApprovalMessage, Listed } from "../../src/client/index.ts";

export const NOW = 1_790_000_000_000;
export const MINUTE = 60_000;

type Changes = Partial<Omit<Listed, "overview">> & { readonly overview?: Partial<NonNullable<Listed["overview"]>> };

/** One that runs, said nothing unusual and waits for nobody, but for what is given. */
export function listed({ overview, ...changes }: Changes = {}): Listed {
	return {
		id: "aaaa",
		name: null,
		state: "running",
		argv: ["vite", "--host"],
		cwd: "/src/billing",
		mode: "pty",
		size: { cols: 80, rows: 24 },
		sizePolicy: "latest",
		pid: 1,
		offsets: { oldest: 0, end: 0 },
		exit: null,
		createdAt: NOW - 60 * MINUTE,
		endedAt: null,
		attachments: 0,
		lease: { fence: 0, holder: null, exclusive: false },
		activeAt: NOW,
		labels: {},
		workspace: "default",
		task: null,
		durable: true,
		retain: { memoryBytes: 0, journalBytes: 0 },
		timeoutMs: 0,
		idleTimeoutMs: 0,
		idleExemptJobs: false,
		...changes,
		overview: {
			lastLine: "ready",
			lastOutputAt: NOW,
			activity: [],
			usualIntervalMs: null,
			watchers: 0,
			approvals: 0,
			waiting: null,
			...overview,
		},
	};
}

/** One whose program asks something. */
export function asking(
	prompt: string,
	changes: Partial<NonNullable<NonNullable<Listed["overview"]>["waiting"]>> = {},
): Listed {
	const waiting = {
		kind: "line" as const,
		prompt,
		since: NOW - 4 * MINUTE,
		offset: 10,
		episode: 1,
		program: null,
		...changes,
	};
	return listed({ overview: { waiting } });
}

/** Something that an agent wants to type into it. */
export function held(changes: Partial<ApprovalMessage> = {}): ApprovalMessage {
	return {
		id: "a_1",
		session: { id: "aaaa", name: "vite", workspace: "default" },
		by: { id: "1f", name: "token:1f:agent" },
		kind: "input",
		reason: "match",
		preview: "rm -rf it\n",
		sha256: "",
		offset: 10,
		fence: 0,
		askedAt: NOW - MINUTE,
		expiresAt: NOW + 4 * MINUTE,
		state: "asked",
		...changes,
	};
}
