/** The long-lived shell of a bash session: a second program beside its runs, whose output goes into the same log. */

import { Change } from "../../../core/change.ts";
import { SessionError } from "../../../core/errors.ts";
import type { Session } from "../../../core/session.ts";
import type { Witness } from "../../../core/witness.ts";
import { defaultSize } from "../../front.ts";
import type { OpenSandboxOptions } from "../options.ts";
import { here } from "../options.ts";
import { shellEnvironment, shellFor } from "../shell.ts";
import { defaultTimes } from "../times.ts";
import type { BashSession, LongLivedShell } from "./bash-sessions.ts";

/** How far a client may be behind until the shell has to wait for it. The log keeps twice as much. */
const MAX_BEHIND_BYTES = 512 * 1024;

/** What a program finds out about its terminal without asking it. */
const terminal = {
	TERM: "xterm-256color",
	COLUMNS: String(defaultSize.cols),
	LINES: String(defaultSize.rows),
} as const;

/**
 * What a shell on pipes is told first. Signals go to its whole group, since without a terminal nothing is in the
 * foreground, and would end it with what it runs. With this they end what it runs, and a loop around that, as Ctrl-C
 * would; it goes on with the next line. Its children don't inherit it.
 */
const SURVIVE_SIGNALS = "trap 'break 1000 2>/dev/null' INT QUIT TERM\n";

/** How the shell ended, and where its last byte is in the log. */
type ShellExit = { readonly code: number; readonly end: number };

export class SessionShell implements LongLivedShell {
	readonly #bash: BashSession;
	readonly #options: OpenSandboxOptions;
	readonly #started: Promise<Session>;
	#session: Session | undefined;
	#exit: ShellExit | undefined;
	/** How far the client has come that is connected now. */
	#reader: { position: number } | undefined;
	readonly #change = new Change();

	/** Begins to start; `started` says whether it could be. */
	constructor(bash: BashSession, options: OpenSandboxOptions, mode: "pty" | "pipe", witness: Witness) {
		this.#bash = bash;
		this.#options = options;
		// Known to the session from now on: who deletes it must find what is only being started.
		bash.shell = this;
		this.#started = this.#start(mode, witness);
		void this.#run();
	}

	get isAlive(): boolean {
		return this.#session?.state.status === "running";
	}

	get session(): Session | undefined {
		return this.#session;
	}

	/** Rejects when there is no shell. */
	get started(): Promise<Session> {
		return this.#started;
	}

	/** Undefined while its output may still grow. */
	get exit(): ShellExit | undefined {
		return this.#exit;
	}

	/** Resolves when all of its output is in the log, or the signal aborts. */
	async exited(signal: AbortSignal): Promise<void> {
		while (!this.#exit && !signal.aborted) await this.#change.next(signal);
	}

	/** The connected client has everything before `position`; undefined when it has gone. */
	taken(position: number | undefined): void {
		this.#reader = position === undefined ? undefined : { position };
		this.#change.happen();
	}

	async end(witness?: Witness): Promise<void> {
		await this.#started.catch(() => {});
		const session = this.#session && (witness?.session(this.#session) ?? this.#session);
		await session?.kill({ signal: "SIGKILL", graceMs: 0, reason: "killed" });
		if (this.#session) await this.#options.sessions.remove(this.#session.id);
	}

	async #start(mode: "pty" | "pipe", witness: Witness): Promise<Session> {
		const options = this.#options;
		const env = { ...(await shellEnvironment(options)), ...(mode === "pty" ? terminal : {}) };
		const argv = await shellFor("", env);
		this.#checkOpen();
		const session = await witness.create(
			options.sessions,
			options.prepare({
				argv,
				cwd: this.#bash.cwd,
				base: env,
				mode,
				...here,
				labels: { "opensandbox.session": this.#bash.id },
				// Bash sessions live as long as this server, and so do their shells.
				durable: false,
				drainMs: options.times?.drainMs ?? defaultTimes.drainMs,
			}),
		);
		this.#session = session;
		// Before anybody else can write: bash reads it before all that its clients say.
		if (mode === "pipe") await session.act({ kind: "write", bytes: Buffer.from(SURVIVE_SIGNALS) });
		// Whoever deletes the session meanwhile waits for us in `end`.
		this.#checkOpen();
		return session;
	}

	async #run(): Promise<void> {
		let code = -1;
		try {
			code = await this.#copy(await this.#started);
		} catch {
			// Who waits for the start hears why it failed; a shell whose output can't be read is of no use.
			await this.end().catch(() => {});
		} finally {
			this.#exit = { code, end: this.#bash.log.end.offset };
			this.#change.happen();
		}
	}

	/** The only reader of the shell, whoever is connected: nothing is lost between two clients. Its exit code in the end. */
	async #copy(session: Session): Promise<number> {
		let code = -1;
		for await (const item of session.follow({ offset: 0 }, { flow: "lossless" })) {
			if (item.kind === "exited") code = item.exit.code ?? -1;
			if (item.kind !== "output") continue;
			this.#bash.log.append({ kind: "output", stream: item.stream, bytes: item.bytes });
			if (this.#isBehind) await this.#wait();
		}
		// All of it is in our log now.
		await this.#options.sessions.forget(session.id);
		return code;
	}

	get #isBehind(): boolean {
		return this.#reader !== undefined && this.#bash.log.end.offset - this.#reader.position > MAX_BEHIND_BYTES;
	}

	/** Waits for the client, but not for one that takes nothing: it will find a gap. */
	async #wait(): Promise<void> {
		const patience = new AbortController();
		const timer = setTimeout(
			() => patience.abort(),
			this.#options.times?.sessionWriteMs ?? defaultTimes.sessionWriteMs,
		);
		while (this.#isBehind && !patience.signal.aborted) await this.#change.next(patience.signal);
		clearTimeout(timer);
		if (patience.signal.aborted) this.#reader = undefined;
	}

	#checkOpen(): void {
		if (!this.#bash.closing.aborted) return;
		throw new SessionError("session_not_found", `session ${this.#bash.id} is being deleted`);
	}
}
