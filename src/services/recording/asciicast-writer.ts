/** Writes an asciicast recording, version 2 or 3: a header, then one timed line per event. */

import { constants } from "node:os";
import type { RecordingFormat } from "../../api/types.ts";
import type { Gap } from "../../core/log/event.ts";
import type { SessionSpec } from "../../core/session/session-info.ts";
import { MarkKeyRedactor } from "../../core/shell/shell-text.ts";
import { commandLine } from "../../words/command-line.ts";
import type { Exit, Size, Stream } from "../../words/state.ts";

type CastHeader = {
	readonly spec: Pick<SessionSpec, "argv" | "name" | "mode">;
	readonly size: Size;
	/** Start time in milliseconds since the epoch. */
	readonly begin: number;
	/** Players shorten longer pauses to this; recorded times do not change. */
	readonly idleLimitMs: number | undefined;
};

/** Writes one recording, line by line. Events must come in order of time. */
export class Asciicast {
	readonly #isVersion2: boolean;
	readonly #header: CastHeader;
	/** A character that is split between two events belongs to the second. */
	readonly #decoders = { pty: newDecoder(), stdout: newDecoder(), stderr: newDecoder() };
	/** Removes the keys of shell marks: readers of the recording must not be able to forge marks. */
	readonly #keys = new MarkKeyRedactor();
	/** Time of the previous line, in milliseconds after the start. */
	#last = 0;

	constructor(format: RecordingFormat, header: CastHeader) {
		this.#isVersion2 = format === "asciicast-v2";
		this.#header = header;
	}

	begin(): string {
		const { spec, size, begin, idleLimitMs } = this.#header;
		const { cols, rows } = size;
		return line({
			...(this.#isVersion2 ? { version: 2, width: cols, height: rows } : { version: 3, term: { cols, rows } }),
			timestamp: Math.floor(begin / 1000),
			...(idleLimitMs === undefined ? {} : { idle_time_limit: idleLimitMs / 1000 }),
			command: commandLine(spec.argv),
			...(spec.name === null ? {} : { title: spec.name }),
		});
	}

	output(time: number, stream: Stream, bytes: Uint8Array): string {
		return this.#text(time, this.#keys.take(this.#decoders[stream].decode(bytes, { stream: true })));
	}

	resized(time: number, { cols, rows }: Size): string {
		return this.#event(time, "r", `${cols}x${rows}`);
	}

	/** A marker that players can jump to. */
	marker(time: number, label: string): string {
		return this.#event(time, "m", label);
	}

	/** A gap in the output. It takes no time. */
	gap({ from, to, reason }: Gap): string {
		const cut = this.#cutOff();
		return `${cut}${this.marker(0, `bytes ${from} to ${to} are missing (${reason})`)}`;
	}

	/** Writes incomplete characters and the exit. Version 2 has no exit event. */
	end(exited: { readonly time: number; readonly exit: Exit } | undefined): string {
		const cut = this.#cutOff();
		return exited && !this.#isVersion2 ? `${cut}${this.#event(exited.time, "x", String(status(exited.exit)))}` : cut;
	}

	/** Flushes incomplete characters and marks. */
	#cutOff(): string {
		const rest = Object.values(this.#decoders)
			.map((decoder) => decoder.decode())
			.join("");
		return this.#text(0, this.#keys.take(rest) + this.#keys.end());
	}

	#text(time: number, text: string): string {
		if (text === "") return "";
		// Output of a pipe has no carriage returns, without which a player would not start lines on the left.
		return this.#event(time, "o", this.#header.spec.mode === "pipe" ? text.replaceAll("\n", "\r\n") : text);
	}

	/** Times never decrease, even if the clock was set back. */
	#event(time: number, code: "o" | "r" | "m" | "x", data: string): string {
		const at = Math.max(this.#last, time - this.#header.begin);
		const recordedMs = this.#isVersion2 ? at : at - this.#last;
		this.#last = at;
		return line([recordedMs / 1000, code, data]);
	}
}

function newDecoder() {
	return new TextDecoder("utf-8", { ignoreBOM: true });
}

function line(value: unknown): string {
	return `${JSON.stringify(value)}\n`;
}

/** The exit code as a shell reports it. */
function status({ code, signal }: Exit): number {
	return code ?? 128 + (constants.signals[signal as NodeJS.Signals] ?? 0);
}
