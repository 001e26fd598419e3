/** Runs a command in a living shell, and tells what became of it. */

import { SessionError } from "../../core/errors.ts";
import type { Inspection } from "../../core/inspection.ts";
import type { Session } from "../../core/session.ts";
import type { RunAnswer } from "../../core/shell-runner.ts";
import { isEnded } from "../../core/state.ts";
import type { Call } from "./call.ts";
import { typeInto } from "./input.ts";
import { telling, waitFor } from "./wait.ts";

export type Outcome = Pick<RunAnswer, "status" | "exitCode" | "output">;

/** Exactly, in a shell that has our hooks; in others as far as it can be seen. */
export async function runCommand(session: Session, command: string, waitS: number, call: Call): Promise<Outcome> {
	const timeoutMs = waitS * 1000;
	try {
		const running = session.run({ command, timeoutMs, options: {} }, call.signal);
		return await telling(session, timeoutMs, running, call);
	} catch (error) {
		if (error instanceof SessionError && error.code === "unsupported")
			return runByTyping(session, command, waitS, call);
		throw error;
	}
}

/**
 * By typing it at the prompt, and by seeing in the kernel when the shell listens again. So it works in any shell; but how
 * a command ended only the shell knows, and its echo and the next prompt are among the output.
 */
async function runByTyping(session: Session, command: string, waitS: number, call: Call): Promise<Outcome> {
	const deadline = performance.now() + waitS * 1000;
	const secondsLeft = () => Math.max(0, (deadline - performance.now()) / 1000);
	await waitFor(session, 0, { input: true, timeout_s: secondsLeft() }, call);
	const before = await session.inspect();
	const { offset: from } = await session.end();
	const outcome = async (status: Outcome["status"]): Promise<Outcome> => {
		const { offset: to } = await session.end();
		return {
			status,
			exitCode: isEnded(session.state) ? (session.state.exit?.code ?? null) : null,
			output: { from, to },
		};
	};
	if (!(await isAtPrompt(session, before))) return outcome("busy");
	await typeInto(session, { text: command, keys: ["Enter"], paste: true }, call);
	const cause = await waitFor(session, from, { input: true, end: true, timeout_s: secondsLeft() }, call);
	if (cause === "exit" || cause === "end") return outcome("ended");
	if (cause !== "input") return outcome("running");
	return outcome((await isAtPrompt(session, await session.inspect())) ? "ended" : "waiting");
}

/** They read plain lines at their prompts, as programs do that ask for one. */
const PLAIN_SHELLS: ReadonlySet<string | null> = new Set(["sh", "dash", "ash"]);

async function isAtPrompt(session: Session, { state, kind, pid, program }: Inspection): Promise<boolean> {
	if (state === "prompt") return true;
	if (state !== "waiting" || kind !== "line" || !PLAIN_SHELLS.has(program)) return false;
	return pid === (await session.info()).pid;
}
