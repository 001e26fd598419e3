/** The start request of both method families to the core. */

import { SessionError } from "../../../../core/errors.ts";
import type { SandboxPolicy } from "../../../../core/process/sandbox-policy.ts";
import type { StartRequest } from "../../../../services/starts/request.ts";
import type { Size } from "../../../../words/state.ts";

type Program = {
	readonly command: readonly string[];
	readonly cwd: string;
	readonly env: Readonly<Record<string, string>>;
	readonly tty: boolean;
	readonly size: Size | null;
	readonly isWritable: boolean;
	/** Null for no limit. With zero, the caller ends the program itself: no timer is that short. */
	readonly timeoutMs: number | null;
	readonly id: string | null;
	/** Absent for programs that are never sandboxed. */
	readonly sandbox?: SandboxPolicy;
	readonly drainMs: number;
	readonly unreadBytes: number;
};

/** Longest part of a name that is stored as a label. The name itself may be as long as a message. */
const LABEL_LENGTH = 256;

export function toStartRequest(program: Program): StartRequest {
	const { command, cwd, env, tty, size, isWritable, timeoutMs, id, sandbox, drainMs, unreadBytes } = program;
	if (command[0] === "") throw unstartable(`missing program for ${tty ? "PTY" : "pipe"} spawn`);
	const texts = [...command, cwd, ...Object.keys(env), ...Object.values(env)];
	if (texts.some((each) => each.includes("\0"))) throw unstartable("nul byte found in provided data");
	return {
		argv: command,
		cwd,
		base: env,
		mode: tty ? "pty" : "pipe",
		...(size === null ? {} : { size }),
		stdin: isWritable ? "open" : "closed",
		sandbox,
		durable: false,
		retention: { memoryBytes: unreadBytes },
		...(timeoutMs === null ? {} : { timeoutMs }),
		timeoutGraceMs: 0,
		drainMs,
		labels: id === null ? {} : { "codex.process": id.slice(0, LABEL_LENGTH) },
	};
}

function unstartable(message: string): SessionError {
	return new SessionError("invalid_argument", message);
}
