/** The form for starting a session, and its conversion to a request. */

import type { Client, CreateSession, LoadedSession, SandboxMessage, SessionInfo } from "hawser/client";

export const sandboxes = ["none", "read-only", "workspace-write"] as const;
export type SandboxChoice = (typeof sandboxes)[number];

export type StartForm = {
	readonly command: string;
	/** Empty for the server's default. */
	readonly cwd: string;
	readonly name: string;
	readonly mode: "pty" | "pipe";
	/** Empty for the default workspace. */
	readonly workspace: string;
	readonly sandbox: SandboxChoice;
	/** `KEY=value`, one per line. */
	readonly env: string;
	/** `key=value`, separated by spaces. */
	readonly labels: string;
	/** Minutes; empty for no limit. */
	readonly endAfter: string;
	/** Columns and rows, such as `120 x 40`; empty for the default. */
	readonly size: string;
	/** Output kept on disk, in MiB; empty for the default. */
	readonly keep: string;
};

export const emptyForm: StartForm = {
	command: "",
	cwd: "",
	name: "",
	mode: "pty",
	workspace: "",
	sandbox: "none",
	env: "",
	labels: "",
	endAfter: "",
	size: "",
	keep: "",
};

/** Characters that need a shell. */
const SHELL_ONLY = /[|&;<>()$`\\*?[\]#~={}!"'\n]/;

/** Plain words are a program with arguments, started without a shell; any other text is a shell command line. */
export function programOf(line: string): Pick<CreateSession, "argv" | "command"> {
	const text = line.trim();
	return SHELL_ONLY.test(text) ? { command: text } : { argv: text.split(/\s+/) };
}

export function requestOf(form: StartForm): CreateSession {
	const { cwd, name, mode, workspace, env, labels, endAfter, keep } = form;
	const variables = pairs(env.split("\n"));
	const labelled = pairs(labels.split(/\s+/));
	const minutes = Number(endAfter);
	const mebibytes = Number(keep);
	const sandbox = policies[form.sandbox];
	return {
		...programOf(form.command),
		mode,
		...(cwd.trim() === "" ? {} : { cwd: cwd.trim() }),
		...(name.trim() === "" ? {} : { name: name.trim() }),
		...(workspace === "" ? {} : { workspace }),
		...(sandbox ? { sandbox } : {}),
		...(variables ? { env: variables } : {}),
		...(labelled ? { labels: labelled } : {}),
		...(minutes > 0 ? { timeoutMs: Math.round(minutes * 60_000) } : {}),
		...(mode === "pty" ? sizeOf(form.size) : undefined),
		...(mebibytes > 0 ? { retain: { journalBytes: Math.round(mebibytes * 1024 ** 2) } } : {}),
	};
}

/** Takes the first two numbers, with any separator. */
function sizeOf(text: string): Pick<CreateSession, "cols" | "rows"> {
	const [, cols, rows] = /^\s*(\d+)\D+(\d+)\s*$/.exec(text) ?? [];
	return cols === undefined ? {} : { cols: Number(cols), rows: Number(rows) };
}

const policies: Readonly<Record<SandboxChoice, SandboxMessage | undefined>> = {
	none: undefined,
	"read-only": { type: "readOnly" },
	"workspace-write": { type: "workspaceWrite" },
};

function pairs(texts: readonly string[]): Record<string, string> | undefined {
	const given = texts.map((text) => text.trim()).filter((text) => text !== "");
	if (given.length === 0) return undefined;
	return Object.fromEntries(
		given.map((text) => {
			const [key = "", ...value] = text.split("=");
			return [key, value.join("=")];
		}),
	);
}

/**
 * A request to start the same program again. Uses the server's variables, because the original ones are not reported.
 */
export function restartRequest(session: SessionInfo): CreateSession {
	const { argv, cwd, mode, name, labels, workspace, task, size, durable, timeoutMs, idleTimeoutMs } = session;
	return {
		argv,
		cwd,
		mode,
		labels,
		workspace,
		durable,
		...size,
		...(name === null ? {} : { name }),
		...(task === null ? {} : { task }),
		...(timeoutMs > 0 ? { timeoutMs } : {}),
		...(idleTimeoutMs > 0 ? { idleTimeoutMs } : {}),
	};
}

/** Uses an idempotency key, so that a retry after a lost response starts nothing twice. */
export function start(client: Client, request: CreateSession): Promise<LoadedSession> {
	return client.sessions.create(request, { idempotencyKey: crypto.randomUUID() });
}
