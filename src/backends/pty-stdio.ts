/** The terminal of a program. */

import { constants } from "node:os";
import { resize, signalTerminal, terminal } from "../native/addon.ts";
import type { Minder } from "../native/minder.ts";
import type { Stdio } from "./program.ts";
import { TerminalReader } from "./terminal-reader.ts";

/** The value of a disabled control character (`stty eof undef`). */
const NO_CHARACTER = 0;

export function ptyStdio({ ends }: Minder): Stdio {
	const fd = ends.input;
	return {
		kind: "pty",
		hangUp: constants.signals.SIGHUP,
		outputs: [{ stream: "pty", fds: [ends.output, ends.wake], open: (options) => new TerminalReader(ends, options) }],
		signal: (signo) => void signalTerminal(fd, signo),
		// A program in raw mode sees the character, as if it were typed.
		async eof(writer) {
			const { eof } = terminal(fd);
			if (eof !== NO_CHARACTER) await writer.write(Uint8Array.of(eof));
		},
		resize: ({ cols, rows }) => resize(fd, cols, rows),
		terminal() {
			const { foreground, leader, echo, canonical } = terminal(fd);
			// Compare with the leader, not with our child: in a sandbox the program is below that and leads its own session.
			return { foreground, echo, canonical, hasJob: foreground !== 0 && leader !== 0 && foreground !== leader };
		},
	};
}
