/** Marks shell commands (OSC 133) in the gutter and in the ruler. */

import type { IDecoration, IMarker, Terminal } from "@xterm/xterm";
import type { TokenReader } from "./theme.ts";

/** Maximum number of marks, newest first; each is an element. */
const MAX_MARKS = 200;

type Mark = { readonly marker: IMarker; decoration: IDecoration | undefined };

/** A missing or invalid exit code counts as success. */
function outcomeOf(exitCode: string | undefined): "ok" | "failed" {
	return (Number.parseInt(exitCode ?? "", 10) || 0) === 0 ? "ok" : "failed";
}

export class CommandMarks {
	readonly #terminal: Terminal;
	readonly #token: TokenReader;
	#marks: Mark[] = [];
	#running: Mark | undefined;

	constructor(terminal: Terminal, token: TokenReader) {
		this.#terminal = terminal;
		this.#token = token;
		terminal.parser.registerOscHandler(133, (data) => {
			const [kind, ...details] = data.split(";");
			if (kind === "A") {
				// Hawser's bash hooks leave the code of `D` empty and send it with the next prompt.
				if (this.#running?.decoration) this.#show(outcomeOf(details.find((each) => each.startsWith("c="))?.slice(2)));
				this.#begin();
			}
			if (kind === "C") this.#show("running");
			if (kind === "D" && details[0] !== "") this.#show(outcomeOf(details[0]));
			return true;
		});
	}

	/** Scrolls to the previous or next command; returns false if there is none. */
	go(direction: "previous" | "next"): boolean {
		const { viewportY } = this.#terminal.buffer.active;
		const lines = this.#marks.map(({ marker }) => marker.line).filter((line) => line >= 0);
		const line =
			direction === "previous"
				? lines.findLast((candidate) => candidate < viewportY)
				: lines.find((candidate) => candidate > viewportY);
		if (line !== undefined) this.#terminal.scrollToLine(line);
		else if (direction === "next") this.#terminal.scrollToBottom();
		return line !== undefined;
	}

	#begin(): void {
		if (this.#terminal.buffer.active.type === "alternate") return;
		this.#running = { marker: this.#terminal.registerMarker(), decoration: undefined };
		this.#marks.push(this.#running);
		for (const { marker } of this.#marks.splice(0, this.#marks.length - MAX_MARKS)) marker.dispose();
	}

	#show(state: "running" | "ok" | "failed"): void {
		const mark = this.#running;
		if (!mark || mark.marker.isDisposed) return;
		mark.decoration?.dispose();
		const color = this.#token(state === "failed" ? "bad" : state === "running" ? "wait" : "text-3");
		mark.decoration = this.#terminal.registerDecoration({ marker: mark.marker, overviewRulerOptions: { color } });
		mark.decoration?.onRender((element) => element.classList.add("command-mark", state));
		if (state !== "running") this.#running = undefined;
	}
}
