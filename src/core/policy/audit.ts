/**
 * The entries of the audit log: who did what, and from where. For input only the amount and stream position are
 * recorded, never the content; for a program its name, but not its arguments, which may contain secrets.
 */

import type { Code } from "../../words/error-code.ts";
import type { Right } from "../../words/rights.ts";
import type { Exit, Size } from "../../words/state.ts";
import type { WorkspaceLimits } from "../session/workspaces.ts";
import type { Approval } from "./approvals.ts";

/** The caller of an action, with its protocol and address. */
export type Actor = {
	/**
	 * Id of the principal: `admin`, a token's, or `ticket:ID`, whose `ticket` entry names its maker; `source:NAME` for a
	 * source of secrets; null if unknown.
	 */
	readonly id: string | null;
	readonly name: string | null;
	/** An address; `local` over the server's own socket, `server` for parts of the server. */
	readonly from: string;
	readonly front: string;
};

export type AuditedAction =
	/** A program is about to be started. `open-failed` or later `end` follows. */
	| {
			readonly action: "open";
			readonly program: string;
			readonly cwd: string;
			readonly mode: "pty" | "pipe";
			readonly durable: boolean;
			readonly sandbox: string | null;
	  }
	| { readonly action: "open-failed"; readonly code: Code }
	/** A recording of this size is about to be imported as an ended session. `open-failed` may follow. */
	| { readonly action: "import"; readonly bytes: number }
	/** A reader began to follow the output, stopped following, or read once. */
	| { readonly action: "attach" }
	| { readonly action: "detach" }
	| { readonly action: "read" }
	/** Number of bytes accepted, with their stream and position if they had one. */
	| { readonly action: "input"; readonly bytes: number; readonly stream?: string; readonly position?: number }
	/** A command of this size was sent to the session's shell, or a retry waits for it. */
	| { readonly action: "run"; readonly bytes: number }
	/** A secret line was typed. Not even its length is recorded. */
	| { readonly action: "secret" }
	/** A secret was requested, or the outcome of such a request. */
	| {
			readonly action: "secret-request";
			readonly request: string;
			readonly status: "asked" | "given" | "refused" | "expired";
	  }
	| { readonly action: "eof" }
	| { readonly action: "resize"; readonly size: Size }
	| { readonly action: "signal"; readonly signal: string }
	/** A caller took control from another one (`take-over`), or got it because it was free. */
	| { readonly action: "take-over"; readonly exclusive: boolean }
	| { readonly action: "control"; readonly exclusive: boolean }
	/** The program's tree is about to be killed. */
	| { readonly action: "kill"; readonly signal: string | null }
	/** The session is about to be ended and deleted. */
	| { readonly action: "remove"; readonly force: boolean }
	/** A request was refused, for a missing right or another reason. */
	| { readonly action: "refused"; readonly code: Code; readonly right?: Right; readonly route?: string }
	/** An action was held for approval, decided, and ended. If it is performed, it has its own entry. */
	| { readonly action: "approval-asked"; readonly approval: string; readonly what: Approval["kind"] }
	| { readonly action: "approval-decided"; readonly approval: string; readonly decision: "grant" | "deny" }
	| { readonly action: "approval-ended"; readonly approval: string; readonly state: Approval["state"] }
	/** A permission dialog of a coding agent is about to be answered, with its text as it was judged. `-failed` may follow. */
	| {
			readonly action: "agent-permission";
			readonly app: string;
			readonly decision: "allow" | "deny";
			/** Null if it is not known in full. */
			readonly command: string | null;
			/** The text of the dialog, and its hash: the audit cuts long texts. */
			readonly shown: string;
			readonly sha256: string;
			readonly approval?: string;
	  }
	| { readonly action: "agent-permission-failed"; readonly code: Code }
	/** The program ended. `late` if no server saw it, so the time is that of the next server's start. */
	| { readonly action: "end"; readonly exit: Exit | null; readonly late?: true }
	| { readonly action: "token-made"; readonly token: string; readonly scopes: readonly string[] }
	| { readonly action: "token-revoked"; readonly token: string }
	/** A workspace was declared, with this number of roots, where none allows any directory; or it was removed. */
	| {
			readonly action: "workspace-set";
			readonly roots: number;
			readonly limits: WorkspaceLimits;
			/** Type of the policy that it requires. */
			readonly sandbox: string | null;
	  }
	| { readonly action: "workspace-removed" }
	| { readonly action: "task-set"; readonly task: string }
	| { readonly action: "task-removed"; readonly task: string }
	/**
	 * A webhook to this host was added, removed, stopped because its owner's credential ended, adopted by the caller,
	 * tested, or retried.
	 */
	| { readonly action: "webhook-added"; readonly webhook: string; readonly host: string }
	| { readonly action: "webhook-removed"; readonly webhook: string }
	| { readonly action: "webhook-stopped"; readonly webhook: string; readonly owner: string }
	| { readonly action: "webhook-adopted"; readonly webhook: string; readonly owner: string | null }
	| { readonly action: "webhook-tested"; readonly webhook: string }
	| { readonly action: "webhook-retried"; readonly webhook: string; readonly retried: number }
	/** A method of a protocol read or changed files of the machine. */
	| { readonly action: "files"; readonly method: string }
	/** A proxied request to a port of the machine. */
	| { readonly action: "proxy"; readonly port: number }
	| { readonly action: "ticket"; readonly ticket: string; readonly right: Right }
	| { readonly action: "sign-in-link" }
	| { readonly action: "sign-in" }
	| { readonly action: "sign-out" }
	| { readonly action: "start"; readonly version: string }
	| { readonly action: "stop" };

export type AuditEntry = AuditedAction & {
	/** Null for the server itself. */
	readonly by: Actor | null;
	readonly session?: string;
	readonly workspace?: string;
};

/** Records audit entries. It never throws and never blocks. */
export interface Audit {
	record(entry: AuditEntry): void;
}

/** For servers without storage. */
export const noAudit: Audit = { record: () => {} };

export type AuditQuery = {
	/** Returns entries after this number. */
	readonly after: number;
	readonly limit: number;
	readonly session?: string | undefined;
	/** The id of an actor. */
	readonly principal?: string | undefined;
	readonly action?: string | undefined;
};

/** An entry as it was written: number, time, content, and its place in the hash chain. */
export type AuditLine = {
	readonly seq: number;
	readonly time: number;
	readonly action: string;
	readonly by?: Actor | null;
	readonly session?: string;
	readonly workspace?: string;
	readonly prev: string;
	readonly hash: string;
	readonly [field: string]: unknown;
};

export type AuditPage = {
	readonly entries: readonly AuditLine[];
	/** The `after` of the next page; null on the last page. */
	readonly next: number | null;
	/** The newest entry. With it a later check can detect whether anything up to it was changed or cut off. */
	readonly head: { readonly seq: number; readonly hash: string };
};

export type AuditStatus = {
	/** Whether entries are being written. */
	readonly isHealthy: boolean;
	/** Entries of this server that were written, and that were lost. */
	readonly written: number;
	readonly lost: number;
};

/** An audit log that can be read. */
export interface AuditTrail extends Audit {
	read(query: AuditQuery): Promise<AuditPage>;
	readonly status: AuditStatus;
}
