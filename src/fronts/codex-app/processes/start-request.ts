/** What both families of methods ask of the core when they start a program. */

import { SessionError } from "../../../core/errors.ts";
import type { Size } from "../../../core/event.ts";
import type { SandboxPolicy } from "../../../core/sandbox.ts";
import type { StartRequest } from "../../front.ts";

export type Program = {
	readonly command: readonly string[];
	readonly cwd: string;
	readonly env: Readonly<Record<string, string>>;
	readonly tty: boolean;
	readonly size: Size | null;
	readonly isWritable: boolean;
	/** Null for no limit. Zero is one that no timer can keep: whoever starts the program ends it. */
	readonly timeoutMs: number | null;
	readonly id: string | null;
	/** Left out for what is never in a sandbox. */
	readonly sandbox?: SandboxPolicy;
	readonly drainMs: number;
	readonly unreadBytes: number;
};

/** A name may be as long as a message; what is shown of it beside other sessions need not be. */
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
