/** What somebody asks to be started, as it is typed, and as the server takes it. */

import type { Client, CreateSession, KnownSession, Listed, SandboxMessage } from "hawser/client";

export const sandboxes = ["none", "read-only", "workspace-write"] as const;
export type SandboxChoice = (typeof sandboxes)[number];

export type StartForm = {
	readonly command: string;
	/** Empty for where the server starts programs. */
	readonly cwd: string;
	readonly name: string;
	readonly mode: "pty" | "pipe";
	/** Empty for the usual one. */
	readonly workspace: string;
	readonly sandbox: SandboxChoice;
	/** `KEY=value`, one to a line. */
	readonly env: string;
	/** `key=value`, with blanks between them. */
	readonly labels: string;
	/** Minutes; empty for never. */
	readonly endAfter: string;
	/** Columns and rows, such as `120 x 40`; empty for the usual. */
	readonly size: string;
	/** How much of its output is kept on disk, in MiB; empty for the usual. */
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

/** What only a shell understands. */
const SHELL_ONLY = /[|&;<>()$`\\*?[\]#~={}!"'\n]/;

/** Words are the program and its arguments, so that the shell has no part in it; anything else is a line for one. */
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

/** Two numbers, whatever stands between them. */
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

/** The same program in the same place; its variables are the server's, for it does not tell what they were. */
export function sameAgain(session: Listed): CreateSession {
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

/** With a key, so that what is asked again after a lost answer is started once. */
export function start(client: Client, request: CreateSession): Promise<KnownSession> {
	return client.sessions.create(request, { idempotencyKey: crypto.randomUUID() });
}
