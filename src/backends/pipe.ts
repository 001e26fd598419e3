/** A program on pipes: real ones, so that it can open /dev/stdout again. */

import { constants } from "node:os";
import type { Fact } from "../core/event.ts";
import type { Command, Process } from "../core/process.ts";
import { signalGroup, spawn } from "../native/addon.ts";
import { type Face, Program, type Surroundings } from "./program.ts";
import { toNative } from "./start.ts";

export function spawnPipe(command: Command, report: (fact: Fact) => void, around: Surroundings): Process {
	const spawned = spawn({
		...toNative(command),
		stdio: "pipe",
		emptyInput: command.stdin === "closed" ? 1 : 0,
		oneOutput: command.stderr === "merged" ? 1 : 0,
	});
	const face: Face = {
		kind: "pipe",
		hangUp: constants.signals.SIGTERM,
		outputs: [
			{ stream: "stdout", fd: spawned.output },
			...(spawned.error < 0 ? [] : [{ stream: "stderr", fd: spawned.error } as const]),
		],
		signal: (signo) => void signalGroup(spawned.pid, signo),
		eof: (writer) => writer.end(),
		resize() {},
		terminal: () => undefined,
	};
	return new Program({ spawned, face, command, report, around });
}
