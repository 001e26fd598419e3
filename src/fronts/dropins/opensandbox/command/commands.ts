/** Commands by id: starts them, and reports their status while they run and afterwards. */

import type { State } from "../../../../core/log/session-state.ts";
import type { AccessResource } from "../../../../core/policy/access.ts";
import type { AuditedCaller } from "../../../../core/policy/audited-caller.ts";
import type { RequestedStart } from "../../../../core/policy/planned-start.ts";
import type { Session } from "../../../../core/session/session.ts";
import type { StartRequest } from "../../../../services/starts/request.ts";
import { errorTextOf, exitCodeOf } from "../exit-text.ts";
import type { OpenSandboxOptions } from "../options.ts";
import { streamed } from "../program-stream.ts";
import { readEnvFile, shellName } from "../shells.ts";
import { groupsOf } from "../user-groups.ts";
import { expandPath } from "../working-directory.ts";

/** Session labels, by which the next server finds a command again. */
const ID_LABEL = "opensandbox.command";
const KIND_LABEL = "opensandbox.kind";

/**
 * Limits of commands remembered after their session was removed. The oldest is forgotten first.
 * @limit finished commands with a status, without their logs; 500 with their logs | the oldest is forgotten
 */
const MAX_FORGOTTEN = 10_000;
const MAX_FORGOTTEN_TEXT = 16 * 1024 * 1024;

export type CommandRequest = {
	readonly command: string;
	/** Not expanded yet. Undefined selects the server's directory. */
	readonly cwd: string | undefined;
	readonly isBackground: boolean;
	/** Zero means no timeout. */
	readonly timeoutMs: number;
	readonly uid: number | undefined;
	readonly gid: number | undefined;
	readonly envs: Readonly<Record<string, string>>;
};

type CommandStatus = {
	readonly id: string;
	readonly content: string;
	readonly running: boolean;
	readonly exit_code?: number;
	readonly error?: string;
	readonly started_at: string;
	readonly finished_at?: string;
};

/** A known command. `session` is undefined once the session was removed. */
export type Command = {
	readonly place: AccessResource;
	readonly isBackground: boolean;
	readonly session: Session | undefined;
	readonly status: CommandStatus;
};

export class Commands {
	readonly #options: OpenSandboxOptions;
	readonly #sessions = new Map<string, Session>();
	/** Oldest first. */
	readonly #forgotten = new Map<string, Command>();
	#forgottenText = 0;
	readonly #unwatch: () => void;

	constructor(options: OpenSandboxOptions) {
		this.#options = options;
		for (const session of options.sessions.list()) this.#add(session);
		// The event arrives in the turn in which the session changes, so a command is never unknown in between.
		this.#unwatch = options.sessions.watch(({ kind, session }) => {
			if (kind === "created") this.#add(session);
			if (kind === "removed") this.#remember(session);
		});
	}

	close(): void {
		this.#unwatch();
	}

	newId(): string {
		return this.#options.newUuid().replaceAll("-", "");
	}

	/** When this resolves, the command's status can be queried, so its id may be sent. */
	async start(id: string, request: CommandRequest, witness: AuditedCaller): Promise<Session> {
		return witness.create(this.#options.sessions, await this.#prepare(id, request));
	}

	get(id: string): Command | undefined {
		const session = this.#sessions.get(id);
		return session ? toCommand(id, session, session.state) : this.#forgotten.get(id);
	}

	async #prepare(id: string, request: CommandRequest): Promise<RequestedStart> {
		const { prepare, environment, envFile, cwd } = this.#options;
		const base = environment();
		const env = { ...(await readEnvFile(envFile, base)), ...request.envs };
		const shell = await shellName({ ...base, ...env });
		return prepare({
			argv: [shell, "-c", request.command],
			base,
			env,
			cwd:
				request.cwd === undefined ? cwd : expandPath(request.cwd, { env: { ...base, ...env }, cwd, home: base.HOME }),
			...streamed,
			...(request.isBackground ? background : {}),
			timeoutMs: request.timeoutMs,
			timeoutGraceMs: 0,
			labels: { [ID_LABEL]: id, [KIND_LABEL]: request.isBackground ? "background" : "foreground" },
			...(await userOf(request)),
		});
	}

	#add(session: Session): void {
		const id = session.spec.labels[ID_LABEL];
		// Any client can set labels, so the first session with an id keeps it.
		if (id !== undefined && !this.#sessions.has(id)) this.#sessions.set(id, session);
	}

	#remember(session: Session): void {
		const id = session.spec.labels[ID_LABEL];
		if (id === undefined || this.#sessions.get(id) !== session) return;
		this.#sessions.delete(id);
		// The program may still run, but its end will never be known.
		const state: State = session.state.status === "running" ? { ...session.state, status: "lost" } : session.state;
		const command = { ...toCommand(id, session, state), session: undefined };
		this.#forgotten.set(id, command);
		this.#forgottenText += command.status.content.length;
		for (const [oldest, { status }] of this.#forgotten) {
			if (this.#forgotten.size <= MAX_FORGOTTEN && this.#forgottenText <= MAX_FORGOTTEN_TEXT) break;
			this.#forgotten.delete(oldest);
			this.#forgottenText -= status.content.length;
		}
	}
}

/** A background command outlives the server and keeps its full log, which clients read later by byte offset. */
const background: Partial<StartRequest> = { durable: true, retention: undefined, stderr: "merged" };

async function userOf({ uid, gid }: CommandRequest): Promise<Partial<StartRequest>> {
	if (uid === undefined) return {};
	const known = await groupsOf(uid);
	return { uid, gid: gid ?? known.gid ?? 0, groups: known.groups };
}

/** Derives all fields from one state, so that they are consistent. */
function toCommand(id: string, session: Session, state: State): Command {
	const { spec } = session;
	const isRunning = state.status === "running";
	const error = isRunning ? undefined : errorTextOf(state.exit);
	return {
		place: { workspace: spec.workspace, session: spec.id },
		isBackground: spec.labels[KIND_LABEL] === "background",
		session,
		status: {
			id,
			content: spec.argv[2] ?? "",
			running: isRunning,
			...(isRunning ? {} : { exit_code: exitCodeOf(state.exit) }),
			...(error === undefined ? {} : { error }),
			started_at: timeOf(spec.createdAt),
			...(isRunning ? {} : { finished_at: timeOf(state.endedAt ?? Date.now()) }),
		},
	};
}

function timeOf(ms: number): string {
	return new Date(ms).toISOString();
}
