/**
 * One run of a bash session: a new shell with the session's directory and variables, whose final state becomes the
 * session's.
 */

import { constants } from "node:fs";
import { access, stat } from "node:fs/promises";
import type { AuditedCaller } from "../../../../core/policy/audited-caller.ts";
import type { Session } from "../../../../core/session/session.ts";
import type { Sessions } from "../../../../core/session/session-registry.ts";
import { type EventStream, encodeLines, ended, failed, type StreamEvent } from "../event-stream.ts";
import type { OpenSandboxOptions } from "../options.ts";
import { sessionLines } from "../output-lines.ts";
import { forgetAtEnd, sendOutput, streamed } from "../program-stream.ts";
import { type BashSession, Run } from "./bash-sessions.ts";
import { RunDirectory } from "./script.ts";

/**
 * Timeout of a run that names none.
 * @limit a run of a bash session, or as requested | it is ended
 */
const DEFAULT_TIMEOUT_MS = 24 * 60 * 60 * 1000;

export type RunRequest = {
	readonly command: string;
	/** An existing directory; undefined for the session's. */
	readonly cwd: string | undefined;
	/** Zero means the default. */
	readonly timeoutMs: number;
};

/** A run whose process was started. */
export class StartedRun {
	readonly #bash: BashSession;
	readonly #run: Run;
	readonly #start: Start;

	/** Rejects if the run can't be started; then nothing is left of it. */
	static async start(
		options: OpenSandboxOptions,
		bash: BashSession,
		request: RunRequest,
		witness: AuditedCaller,
	): Promise<StartedRun> {
		const starting = start(options, bash, request, witness);
		// Added in the same turn: a delete from here on ends this run too, once it is started.
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

	/** Sends its output, adopts its final state, and resolves with the last event. */
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

	/** Must be called in the end. Kills a run that has not ended. */
	async finish(sessions: Sessions, report: (error: unknown) => void): Promise<void> {
		if (this.#start.session.state.status === "running") await this.#run.kill();
		this.#bash.runs.delete(this.#run);
		forgetAtEnd(sessions, this.#start.session).catch(report);
		await this.#start.directory.remove();
	}
}

/** A started process. */
type Start = {
	readonly session: Session;
	readonly directory: RunDirectory;
	/** Printed first. */
	readonly complaint: string | undefined;
};

async function start(
	options: OpenSandboxOptions,
	bash: BashSession,
	request: RunRequest,
	witness: AuditedCaller,
): Promise<Start> {
	const directory = await RunDirectory.create();
	try {
		const { cwd, complaint } = await directoryOf(request.cwd ?? bash.cwd, options.cwd);
		const command = options.prepare({
			argv: ["bash", "--noprofile", "--norc", directory.script],
			base: { ...options.environment(), ...bash.env, PWD: cwd },
			cwd,
			...streamed,
			stderr: "merged",
			timeoutMs: request.timeoutMs || DEFAULT_TIMEOUT_MS,
			timeoutGraceMs: 0,
			labels: { "opensandbox.session": bash.id },
		});
		const script = { text: request.command, write: () => directory.write(request.command) };
		return { session: await witness.create(options.sessions, command, script), directory, complaint };
	} catch (error) {
		await directory.remove();
		throw error;
	}
}

function keep(bash: BashSession, lines: readonly string[]): void {
	bash.log.append({ kind: "output", stream: "stdout", bytes: Buffer.from(lines.map((line) => `${line}\n`).join("")) });
}

/** The directory of a run: the session's, or the server's with a complaint if that is not usable. */
async function directoryOf(wanted: string, otherwise: string): Promise<{ cwd: string; complaint: string | undefined }> {
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
