/** A recording as asciinema has it, versions 2 and 3: a header, and a line for each thing that happened, with its time. */

import { constants } from "node:os";
import type { Exit, Gap, Size, Stream } from "../../../core/event.ts";
import type { SessionSpec } from "../../../core/session.ts";
import { KeyEraser } from "../../../core/shell-output.ts";
import { commandLine } from "../../../protocol/command-line.ts";
import type { RecordingFormat } from "../../../protocol/past.ts";

type CastHeader = {
	readonly spec: Pick<SessionSpec, "argv" | "name" | "mode">;
	readonly size: Size;
	/** When it begins, in milliseconds since the epoch. */
	readonly begin: number;
	/** Players shorten longer pauses to this; the times themselves stay as they were. */
	readonly idleLimitMs: number | undefined;
};

/** Writes one recording, line by line. The methods are called in the order of time. */
export class Asciicast {
	readonly #isVersion2: boolean;
	readonly #header: CastHeader;
	/** A character may be cut by the end of an event; it then belongs to the one that has its last byte. */
	readonly #decoders = { pty: newDecoder(), stdout: newDecoder(), stderr: newDecoder() };
	/** A recording is shown to others, who must not be able to pass for the shell. */
	readonly #keys = new KeyEraser();
	/** Of the line before, in milliseconds after the beginning. */
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

	/** A place that players can go to. */
	marker(time: number, label: string): string {
		return this.#event(time, "m", label);
	}

	/** What is missing has no time of its own. */
	gap({ from, to, reason }: Gap): string {
		const cut = this.#cutOff();
		return `${cut}${this.marker(0, `bytes ${from} to ${to} are gone (${reason})`)}`;
	}

	/** What has no end yet, and how the program ended, if it did: version 2 has no place for that. */
	end(exited: { readonly time: number; readonly exit: Exit } | undefined): string {
		const cut = this.#cutOff();
		return exited && !this.#isVersion2 ? `${cut}${this.#event(exited.time, "x", String(status(exited.exit)))}` : cut;
	}

	/** Characters and marks whose rest will not come. */
	#cutOff(): string {
		const rest = Object.values(this.#decoders)
			.map((decoder) => decoder.decode())
			.join("");
		return this.#text(0, this.#keys.take(rest) + this.#keys.end());
	}

	#text(time: number, text: string): string {
		if (text === "") return "";
		// What a program writes to a pipe has no returns, without which a player would draw stairs.
		return this.#event(time, "o", this.#header.spec.mode === "pipe" ? text.replaceAll("\n", "\r\n") : text);
	}

	/** A clock that was set back does not make a recording go back. */
	#event(time: number, code: "o" | "r" | "m" | "x", data: string): string {
		const at = Math.max(this.#last, time - this.#header.begin);
		const told = this.#isVersion2 ? at : at - this.#last;
		this.#last = at;
		return line([told / 1000, code, data]);
	}
}

function newDecoder() {
	return new TextDecoder("utf-8", { ignoreBOM: true });
}

function line(value: unknown): string {
	return `${JSON.stringify(value)}\n`;
}

/** As a shell has it, which knows numbers only. */
function status({ code, signal }: Exit): number {
	return code ?? 128 + (constants.signals[signal as NodeJS.Signals] ?? 0);
}
