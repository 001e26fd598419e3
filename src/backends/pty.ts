/** A program on a terminal. */

import { constants } from "node:os";
import type { Fact } from "../core/event.ts";
import type { Command, Process } from "../core/process.ts";
import { resize, signalTerminal, spawn, terminal } from "../native/addon.ts";
import { type Face, Program, type Surroundings } from "./program.ts";
import { toNative } from "./start.ts";
import { TerminalReader } from "./terminal-reader.ts";

export function spawnPty(command: Command, report: (fact: Fact) => void, around: Surroundings): Process {
	const spawned = spawn({ ...toNative(command), stdio: "pty", cols: command.size.cols, rows: command.size.rows });
	const fd = spawned.input;
	const face: Face = {
		kind: "pty",
		hangUp: constants.signals.SIGHUP,
		outputs: [
			{
				stream: "pty",
				fds: [spawned.output, spawned.wake],
				open: (options) => new TerminalReader(spawned, options),
			},
		],
		signal: (signo) => void signalTerminal(fd, signo),
		// A program that reads keys instead of lines sees the character; that is what typing it would do.
		eof: (writer) => writer.write(Uint8Array.of(terminal(fd).eof)),
		resize: ({ cols, rows }) => resize(fd, cols, rows),
		terminal() {
			const { foreground, echo, canonical } = terminal(fd);
			return { foreground, echo, canonical };
		},
	};
	return new Program({ spawned, face, command, report, around });
}
