/**
 * What is recorded of who did what, and from where. Of input it is told how much there was and where in its stream,
 * never what; of a program its name, and not its arguments, which may hold secrets.
 */

import type { Right } from "./access.ts";
import type { Approval } from "./approvals.ts";
import type { Code } from "./errors.ts";
import type { Exit, Size } from "./event.ts";
import type { WorkspaceLimits } from "./workspaces.ts";

/** Who did something, by which protocol, and from which address. */
export type Actor = {
	/** Of the principal: `admin`, or a token's; of a source of secrets, `source:NAME`; null for nobody that is known. */
	readonly id: string | null;
	readonly name: string | null;
	/** An address; `local` for who came over the server's own socket, `server` for what is part of it. */
	readonly from: string;
	readonly front: string;
};

export type Deed =
	/** A program is to be started. What becomes of that is `open-failed`, or an `end` some day. */
	| {
			readonly action: "open";
			readonly program: string;
			readonly cwd: string;
			readonly mode: "pty" | "pipe";
			readonly durable: boolean;
			readonly sandbox: string | null;
	  }
	| { readonly action: "open-failed"; readonly code: Code }
	/** A recording of so many bytes is to be taken in as a session that has ended; it may be `open-failed`, too. */
	| { readonly action: "import"; readonly bytes: number }
	/** Somebody follows the output, until they leave; or got one answer of it. */
	| { readonly action: "attach" }
	| { readonly action: "detach" }
	| { readonly action: "read" }
	/** So many bytes were accepted; from which position of which stream on, where they had one. */
	| { readonly action: "input"; readonly bytes: number; readonly stream?: string; readonly position?: number }
	/** A command of so many bytes was to be run in the session's shell, or to be waited for again. */
	| { readonly action: "run"; readonly bytes: number }
	/** A line was typed that is nobody's to see; not even its length is told. */
	| { readonly action: "secret" }
	/** Somebody asked for one to be typed, or this became of it. */
	| {
			readonly action: "secret-request";
			readonly request: string;
			readonly status: "asked" | "given" | "refused" | "expired";
	  }
	| { readonly action: "eof" }
	| { readonly action: "resize"; readonly size: Size }
	| { readonly action: "signal"; readonly signal: string }
	/** Control was asked for and given, whoever had it before (`take-over`) or because nobody kept it. */
	| { readonly action: "take-over"; readonly exclusive: boolean }
	| { readonly action: "control"; readonly exclusive: boolean }
	/** The program's tree is to be ended. */
	| { readonly action: "kill"; readonly signal: string | null }
	/** The session is to be ended and forgotten. */
	| { readonly action: "remove"; readonly force: boolean }
	/** Somebody may not have what they asked for: a right they lack, or why else it was refused. */
	| { readonly action: "refused"; readonly code: Code; readonly right?: Right; readonly route?: string }
	/** Something is held until somebody approves it; somebody has decided; and what became of it. What is done then is a line of its own. */
	| { readonly action: "approval-asked"; readonly approval: string; readonly what: Approval["kind"] }
	| { readonly action: "approval-decided"; readonly approval: string; readonly decision: "grant" | "deny" }
	| { readonly action: "approval-ended"; readonly approval: string; readonly state: Approval["state"] }
	/** The program ended. `late` if no server saw it, so that the time is that of the next server's start. */
	| { readonly action: "end"; readonly exit: Exit | null; readonly late?: true }
	| { readonly action: "token-made"; readonly token: string; readonly scopes: readonly string[] }
	| { readonly action: "token-revoked"; readonly token: string }
	/** A workspace was declared, with so many roots, none of which means anywhere; or is not declared any more. */
	| { readonly action: "workspace-set"; readonly roots: number; readonly limits: WorkspaceLimits }
	| { readonly action: "workspace-removed" }
	| { readonly action: "task-set"; readonly task: string }
	| { readonly action: "task-removed"; readonly task: string }
	/** Somebody outside is told what happens to sessions, at this host; or is not any more; or was sent something again. */
	| { readonly action: "webhook-added"; readonly webhook: string; readonly host: string }
	| { readonly action: "webhook-removed"; readonly webhook: string }
	| { readonly action: "webhook-tested"; readonly webhook: string }
	| { readonly action: "webhook-retried"; readonly webhook: string; readonly retried: number }
	/** Files of the machine were asked for, or were to be changed, by this method of a protocol. */
	| { readonly action: "files"; readonly method: string }
	/** A port of the machine was to be reached. */
	| { readonly action: "proxy"; readonly port: number }
	| { readonly action: "ticket"; readonly right: Right }
	| { readonly action: "sign-in-link" }
	| { readonly action: "sign-in" }
	| { readonly action: "sign-out" }
	| { readonly action: "start"; readonly version: string }
	| { readonly action: "stop" };

export type AuditEntry = Deed & {
	/** Null for the server itself. */
	readonly by: Actor | null;
	readonly session?: string;
	readonly workspace?: string;
};

/** Takes what happened. It never throws, never waits, and never keeps anybody waiting. */
export interface Audit {
	record(entry: AuditEntry): void;
}

/** For servers that keep nothing. */
export const noAudit: Audit = { record: () => {} };

export type AuditQuery = {
	/** Entries after this number. */
	readonly after: number;
	readonly limit: number;
	readonly session?: string | undefined;
	/** The id of an actor. */
	readonly principal?: string | undefined;
	readonly action?: string | undefined;
};

/** A line as it was written: its number, its time, what is said of it, and its place in the chain. */
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
	/** What to give as `after` for the next page; null when this is the last. */
	readonly next: number | null;
	/** The newest line, by which a later look can tell that nothing up to it was changed or cut off. */
	readonly head: { readonly seq: number; readonly hash: string };
};

export type AuditStatus = {
	/** Whether what is recorded is being written. */
	readonly isHealthy: boolean;
	/** Entries of this server that were written, and that never will be. */
	readonly written: number;
	readonly lost: number;
};

/** The record as it can be read. */
export interface AuditTrail extends Audit {
	read(query: AuditQuery): Promise<AuditPage>;
	readonly status: AuditStatus;
}
