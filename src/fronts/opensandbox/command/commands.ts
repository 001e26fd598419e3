/** Commands by their ids: how they are started, and what is known of them while they run and after. */

import type { Place } from "../../../core/access.ts";
import type { Session, SessionStart } from "../../../core/session.ts";
import type { State } from "../../../core/state.ts";
import type { Witness } from "../../../core/witness.ts";
import type { StartRequest } from "../../front.ts";
import { errorTextOf, exitCodeOf } from "../endings.ts";
import type { OpenSandboxOptions } from "../options.ts";
import { expandPath } from "../paths.ts";
import { streamed } from "../program-stream.ts";
import { readEnvFile, shellName } from "../shell.ts";
import { groupsOf } from "../users.ts";

/** By these a command is found again after a restart of the server. */
const ID_LABEL = "opensandbox.command";
const KIND_LABEL = "opensandbox.kind";

/** How many commands are remembered whose sessions are forgotten, and how much of their text; then the oldest are unknown. */
const MAX_FORGOTTEN = 10_000;
const MAX_FORGOTTEN_TEXT = 16 * 1024 * 1024;

export type CommandRequest = {
	readonly command: string;
	/** Not expanded yet; undefined starts where the daemon is. */
	readonly cwd: string | undefined;
	readonly isBackground: boolean;
	/** Zero means none. */
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

/** A command that is known. Its session is gone once the server has forgotten that. */
export type Command = {
	readonly place: Place;
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
		// In the same turn as the session is there, or is not any more: no command is ever unknown in between.
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

	/** Once this resolves the command can be asked for, so that its id may be told then. */
	async start(id: string, request: CommandRequest, witness: Witness): Promise<Session> {
		return witness.create(this.#options.sessions, await this.#prepare(id, request));
	}

	get(id: string): Command | undefined {
		const session = this.#sessions.get(id);
		return session ? toCommand(id, session, session.state) : this.#forgotten.get(id);
	}

	async #prepare(id: string, request: CommandRequest): Promise<SessionStart> {
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
		// Anybody may label a session; nobody's command is another's for that.
		if (id !== undefined && !this.#sessions.has(id)) this.#sessions.set(id, session);
	}

	#remember(session: Session): void {
		const id = session.spec.labels[ID_LABEL];
		if (id === undefined || this.#sessions.get(id) !== session) return;
		this.#sessions.delete(id);
		// As far as we know it may still run, but nobody will ever hear of it again.
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

/** What must outlive the server, with all that is kept of any session: its log is what clients read later, by its bytes. */
const background: Partial<StartRequest> = { durable: true, retention: undefined, stderr: "merged" };

async function userOf({ uid, gid }: CommandRequest): Promise<Partial<StartRequest>> {
	if (uid === undefined) return {};
	const known = await groupsOf(uid);
	return { uid, gid: gid ?? known.gid ?? 0, groups: known.groups };
}

/** From one state, so that it can't contradict itself. */
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
