/** One run of a bash session: a new shell with the session's directory and variables, which leaves its own behind. */

import { constants } from "node:fs";
import { access, stat } from "node:fs/promises";
import type { Session } from "../../../core/session.ts";
import type { Sessions } from "../../../core/sessions.ts";
import type { Witness } from "../../../core/witness.ts";
import { type EventStream, encodeLines, ended, failed, type StreamEvent } from "../event-stream.ts";
import { sessionLines } from "../lines.ts";
import type { OpenSandboxOptions } from "../options.ts";
import { forgetAtEnd, sendOutput, streamed } from "../program-stream.ts";
import { type BashSession, Run } from "./bash-sessions.ts";
import { RunDirectory } from "./script.ts";

/** For a run that names no time. */
const DEFAULT_TIMEOUT_MS = 24 * 60 * 60 * 1000;

export type RunRequest = {
	readonly command: string;
	/** A directory that is there; undefined is where the session is. */
	readonly cwd: string | undefined;
	/** Zero means the default. */
	readonly timeoutMs: number;
};

/** A run whose process is there. */
export class StartedRun {
	readonly #bash: BashSession;
	readonly #run: Run;
	readonly #start: Start;

	/** Rejects when it can't be started, and leaves nothing behind then. */
	static async start(
		options: OpenSandboxOptions,
		bash: BashSession,
		request: RunRequest,
		witness: Witness,
	): Promise<StartedRun> {
		const starting = start(options, bash, request, witness);
		// In the same turn: whoever deletes the session from here on ends this run too, as soon as it is there.
		const run = new Run(starting.then(({ session }) => session));
		bash.runs.add(run);
		try {
			return new StartedRun(bash, run, await starting);
		} catch (error) {
			bash.runs.delete(run);
			throw error;
		}
	}

	private constructor(bash: BashSession, run: Run, start: Start) {
		this.#bash = bash;
		this.#run = run;
		this.#start = start;
	}

	/** Sends what it prints, takes over the state that it leaves, and resolves with what is to be sent last. */
	async send(stream: EventStream, drainMs: number): Promise<StreamEvent> {
		const { session, directory, complaint } = this.#start;
		const bash = this.#bash;
		const onLines = (lines: readonly string[]) => keep(bash, lines);
		if (complaint !== undefined) {
			onLines([complaint]);
			await stream.write(encodeLines("stdout", [complaint], Date.now()));
		}
		const followed = await sendOutput({ session, stream, rule: sessionLines, drainMs, onLines });
		if (followed.kind === "stalled") return failed(followed.message);
		if (followed.kind === "left") return failed("the server ended this stream, and the run with it");
		const { exit, ms } = followed;
		if (exit?.reason === "timeout") return failed("-1", `timeout after ${session.spec.timeoutMs / 1000}s`);
		const state = await directory.read();
		if (state) ({ cwd: bash.cwd, env: bash.env } = state);
		return ended(exit, ms);
	}

	/** To be called whatever happened. A run that goes on, with nobody to hear of it, is ended. */
	async finish(sessions: Sessions, report: (error: unknown) => void): Promise<void> {
		if (this.#start.session.state.status === "running") await this.#run.kill();
		this.#bash.runs.delete(this.#run);
		forgetAtEnd(sessions, this.#start.session).catch(report);
		await this.#start.directory.remove();
	}
}

/** What there is once the process runs. */
type Start = {
	readonly session: Session;
	readonly directory: RunDirectory;
	/** To be printed first. */
	readonly complaint: string | undefined;
};

async function start(
	options: OpenSandboxOptions,
	bash: BashSession,
	request: RunRequest,
	witness: Witness,
): Promise<Start> {
	const directory = await RunDirectory.create();
	try {
		const { cwd, complaint } = await placeOf(request.cwd ?? bash.cwd, options.cwd);
		const command = options.prepare({
			argv: ["bash", "--noprofile", "--norc", await directory.write(request.command)],
			base: { ...options.environment(), ...bash.env, PWD: cwd },
			cwd,
			...streamed,
			stderr: "merged",
			timeoutMs: request.timeoutMs || DEFAULT_TIMEOUT_MS,
			timeoutGraceMs: 0,
			labels: { "opensandbox.session": bash.id },
		});
		return { session: await witness.create(options.sessions, command, request.command), directory, complaint };
	} catch (error) {
		await directory.remove();
		throw error;
	}
}

function keep(bash: BashSession, lines: readonly string[]): void {
	bash.log.append({ kind: "output", stream: "stdout", bytes: Buffer.from(lines.map((line) => `${line}\n`).join("")) });
}

/** Where a run starts: where the session is, or, with a complaint, where the daemon is. */
async function placeOf(wanted: string, otherwise: string): Promise<{ cwd: string; complaint: string | undefined }> {
	try {
		await access(wanted, constants.X_OK);
		if ((await stat(wanted)).isDirectory()) return { cwd: wanted, complaint: undefined };
		return { cwd: otherwise, complaint: `bash: cd: ${wanted}: Not a directory` };
	} catch (error) {
		const reason =
			(error as NodeJS.ErrnoException).code === "EACCES" ? "Permission denied" : "No such file or directory";
		return { cwd: otherwise, complaint: `bash: cd: ${wanted}: ${reason}` };
	}
}
