/** A program on pipes: real ones, so that it can open /dev/stdout again. */

import { constants } from "node:os";
import type { Fact } from "../core/event.ts";
import type { Command, Process } from "../core/process.ts";
import { signalGroup, spawn } from "../native/addon.ts";
import { PipeReader } from "./pipe-reader.ts";
import { type Face, type Output, Program, type Surroundings } from "./program.ts";
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
		outputs: [output("stdout", spawned.output), ...(spawned.error < 0 ? [] : [output("stderr", spawned.error)])],
		signal: (signo) => void signalGroup(spawned.pid, signo),
		eof: (writer) => writer.end(),
		resize() {},
		terminal: () => undefined,
	};
	return new Program({ spawned, face, command, report, around });
}

function output(stream: "stdout" | "stderr", fd: number): Output {
	return { stream, fds: [fd], open: (options) => new PipeReader(fd, options) };
}
