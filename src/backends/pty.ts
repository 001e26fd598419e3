/** A program's terminal. */

import { constants } from "node:os";
import { resize, signalTerminal, terminal } from "../native/addon.ts";
import type { Minder } from "../native/minder.ts";
import type { Stdio } from "./program.ts";
import { TerminalReader } from "./terminal-reader.ts";

/** What a terminal has in the place of a key that does nothing (`stty eof undef`). */
const NO_CHARACTER = 0;

export function ptyStdio({ ends }: Minder): Stdio {
	const fd = ends.input;
	return {
		kind: "pty",
		hangUp: constants.signals.SIGHUP,
		outputs: [{ stream: "pty", fds: [ends.output, ends.wake], open: (options) => new TerminalReader(ends, options) }],
		signal: (signo) => void signalTerminal(fd, signo),
		// A program that reads keys instead of lines sees the character; that is what typing it would do.
		async eof(writer) {
			const { eof } = terminal(fd);
			if (eof !== NO_CHARACTER) await writer.write(Uint8Array.of(eof));
		},
		resize: ({ cols, rows }) => resize(fd, cols, rows),
		terminal() {
			const { foreground, leader, echo, canonical } = terminal(fd);
			// By the leader, not by the pid that we started: in a sandbox the program is below that, and leads a session of its own.
			return { foreground, echo, canonical, hasJob: foreground !== 0 && leader !== 0 && foreground !== leader };
		},
	};
}
