/** Sessions as in a list, for decisions based on that alone. */

import type { ApprovalMessage, SessionInfo } from "../../src/client/index.ts";

export const NOW = 1_790_000_000_000;
export const MINUTE = 60_000;

type Changes = Partial<Omit<SessionInfo, "overview">> & {
	readonly overview?: Partial<NonNullable<SessionInfo["overview"]>>;
};

/** One that runs without special state and waits for nothing, except for the given members. */
export function listed({ overview, ...changes }: Changes = {}): SessionInfo {
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
			activeAt: overview?.lastOutputAt ?? NOW,
			activity: [],
			usualIntervalMs: null,
			watchers: 0,
			approvals: 0,
			prompts: 0,
			agent: null,
			waiting: null,
			...overview,
		},
	};
}

/** One whose program asks a question. */
export function asking(
	prompt: string,
	changes: Partial<NonNullable<NonNullable<SessionInfo["overview"]>["waiting"]>> = {},
): SessionInfo {
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

/** Input from an agent that waits for approval. */
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
