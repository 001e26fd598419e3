/** The long-lived shell of a bash session: a program besides its runs, writing to the same log. */

import { Change } from "../../../../core/async/change.ts";
import { SessionError } from "../../../../core/errors.ts";
import type { AuditedCaller } from "../../../../core/policy/audited-caller.ts";
import type { Session } from "../../../../core/session/session.ts";
import { defaultSize } from "../../../../services/starts/request.ts";
import { defaultTimes } from "../limits.ts";
import type { OpenSandboxOptions } from "../options.ts";
import { defaultPlacement } from "../options.ts";
import { shellEnvironment, shellFor } from "../shells.ts";
import type { BashSession, LongLivedShell } from "./bash-sessions.ts";

/** A client may be this far behind before the shell waits for it. The log keeps twice as much. */
const MAX_BEHIND_BYTES = 512 * 1024;

/** Environment variables that describe the terminal. */
const terminal = {
	TERM: "xterm-256color",
	COLUMNS: String(defaultSize.cols),
	LINES: String(defaultSize.rows),
} as const;

/**
 * First input of a shell on pipes. Without a terminal there is no foreground group, so signals go to the whole group
 * and would end the shell as well. With this trap they end what it runs and any loop around it, as Ctrl-C would, and
 * the shell continues with the next line. Children do not inherit the trap.
 */
const SURVIVE_SIGNALS = "trap 'break 1000 2>/dev/null' INT QUIT TERM\n";

/** Exit code of the shell, and the end of its output in the log. */
type ShellExit = { readonly code: number; readonly end: number };

export class SessionShell implements LongLivedShell {
	readonly #bash: BashSession;
	readonly #options: OpenSandboxOptions;
	readonly #started: Promise<Session>;
	#session: Session | undefined;
	#exit: ShellExit | undefined;
	/** Position of the connected client in the log. */
	#reader: { position: number } | undefined;
	readonly #change = new Change();

	/** Begins the start; `started` reports the result. */
	constructor(bash: BashSession, options: OpenSandboxOptions, mode: "pty" | "pipe", witness: AuditedCaller) {
		this.#bash = bash;
		this.#options = options;
		// Registered before it is started, so that a delete finds it.
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

	/** Rejects if the shell could not be started. */
	get started(): Promise<Session> {
		return this.#started;
	}

	/** Undefined while output may follow. */
	get exit(): ShellExit | undefined {
		return this.#exit;
	}

	/** Resolves when all of its output is in the log, or the signal aborts. */
	async exited(signal: AbortSignal): Promise<void> {
		while (!this.#exit && !signal.aborted) await this.#change.wait(signal);
	}

	/** Reports that the client has received everything before `position`; undefined when it left. */
	taken(position: number | undefined): void {
		this.#reader = position === undefined ? undefined : { position };
		this.#change.happen();
	}

	async end(witness?: AuditedCaller): Promise<void> {
		await this.#started.catch(() => {});
		const session = this.#session && (witness?.session(this.#session) ?? this.#session);
		await session?.kill({ signal: "SIGKILL", graceMs: 0, reason: "killed" });
		if (this.#session) await this.#options.sessions.remove(this.#session.id);
	}

	async #start(mode: "pty" | "pipe", witness: AuditedCaller): Promise<Session> {
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
				...defaultPlacement,
				labels: { "opensandbox.session": this.#bash.id },
				// Bash sessions live as long as this server, and so do their shells.
				durable: false,
				drainMs: options.times?.drainMs ?? defaultTimes.drainMs,
			}),
		);
		this.#session = session;
		// Written before any client's input, so bash reads it first.
		if (mode === "pipe") await session.act({ kind: "write", bytes: Buffer.from(SURVIVE_SIGNALS) });
		// A delete that started meanwhile waits for this start in `end`.
		this.#checkOpen();
		return session;
	}

	async #run(): Promise<void> {
		let code = -1;
		try {
			code = await this.#copy(await this.#started);
		} catch {
			// `started` reports a failed start. A shell whose output can't be read is useless, so it is ended.
			await this.end().catch(() => {});
		} finally {
			this.#exit = { code, end: this.#bash.log.end.offset };
			this.#change.happen();
		}
	}

	/**
	 * Copies the shell's output to the log, whether or not a client is connected, so that nothing is lost between two
	 * clients. Returns the exit code.
	 */
	async #copy(session: Session): Promise<number> {
		let code = -1;
		for await (const item of session.follow({ offset: 0 }, { flow: "lossless" })) {
			if (item.kind === "exited") code = item.exit.code ?? -1;
			if (item.kind !== "output") continue;
			this.#bash.log.append({ kind: "output", stream: item.stream, bytes: item.bytes });
			if (this.#isBehind) await this.#wait();
		}
		// All output is in our log now.
		await this.#options.sessions.forget(session.id);
		return code;
	}

	get #isBehind(): boolean {
		return this.#reader !== undefined && this.#bash.log.end.offset - this.#reader.position > MAX_BEHIND_BYTES;
	}

	/** Waits for the client, but not forever: a client that takes nothing will see a gap. */
	async #wait(): Promise<void> {
		const timeout = new AbortController();
		const timer = setTimeout(() => timeout.abort(), this.#options.times?.sessionWriteMs ?? defaultTimes.sessionWriteMs);
		while (this.#isBehind && !timeout.signal.aborted) await this.#change.wait(timeout.signal);
		clearTimeout(timer);
		if (timeout.signal.aborted) this.#reader = undefined;
	}

	#checkOpen(): void {
		if (!this.#bash.closing.aborted) return;
		throw new SessionError("session_not_found", `session ${this.#bash.id} is being deleted`);
	}
}
