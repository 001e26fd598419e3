/** The pipes of a program. They are real pipes, so that it can open /dev/stdout again. */

import { constants } from "node:os";
import { signalGroup } from "../native/addon.ts";
import type { Minder } from "../native/minder.ts";
import { PipeReader } from "./pipe-reader.ts";
import type { Output, Stdio } from "./program.ts";

export function pipeStdio({ pid, ends }: Minder): Stdio {
	return {
		kind: "pipe",
		hangUp: constants.signals.SIGTERM,
		outputs: [output("stdout", ends.output), ...(ends.error < 0 ? [] : [output("stderr", ends.error)])],
		signal: (signo) => void signalGroup(pid, signo),
		eof: (writer) => writer.end(),
		resize() {},
		terminal: () => undefined,
	};
}

function output(stream: "stdout" | "stderr", fd: number): Output {
	return { stream, fds: [fd], open: (options) => new PipeReader(fd, options) };
}
