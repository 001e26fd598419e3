/** Splits output into lines of text, independent of how the bytes are chunked. */

/**
 * Longer lines, in UTF-16 units, are split, so that no line is buffered without limit. Escaping may multiply the length
 * by six, and clients accept at most 4 MiB per event.
 * @limit a line in one event, so that one of control characters stays below the 4 MiB of the Go SDK | % characters | it
 * is cut into several events
 */
export const LONGEST_LINE: number = 512 * 1024;

/** How one endpoint splits output into lines. */
export type LineRule = {
	/** The lines of a piece; the last one continues in the next piece. */
	split(text: string): string[];
	/** Whether `\n` right after `\r` does not end another line. */
	readonly isReturnAnEnd: boolean;
	/** The text sent for a line; undefined sends nothing. */
	textOf(line: string): string | undefined;
};

/**
 * `/command`: carriage returns end lines too, so that each update of a progress bar is a line. Empty lines are kept.
 */
export const commandLines: LineRule = {
	split: (text) => (text.includes("\r") ? text.split(/\r\n|\r|\n/) : text.split("\n")),
	isReturnAnEnd: true,
	textOf: (line) => (line === "" ? "\n" : line),
};

/** `/session/:id/run`: lines end with `\n` or `\r\n`. Empty ones are not sent. */
export const sessionLines: LineRule = {
	split: (text) => text.split("\n"),
	isReturnAnEnd: false,
	textOf(line) {
		const text = line.endsWith("\r") ? line.slice(0, -1) : line;
		return text === "" ? undefined : text;
	},
};

export class Lines {
	readonly #rule: LineRule;
	readonly #longest: number;
	/** Handles characters that span two pieces; invalid bytes become U+FFFD. */
	readonly #decoder = new TextDecoder("utf-8", { ignoreBOM: true });
	#rest = "";
	#isAfterReturn = false;

	constructor(rule: LineRule, longest: number = LONGEST_LINE) {
		this.#rule = rule;
		this.#longest = longest;
	}

	/** Returns the lines completed by these bytes. */
	push(bytes: Uint8Array): string[] {
		return this.#take(this.#decoder.decode(bytes, { stream: true }));
	}

	/** Returns the rest without a line end. */
	finish(): string[] {
		const lines = this.#take(this.#decoder.decode());
		if (this.#rest !== "") lines.push(...this.#texts([this.#rest]));
		this.#rest = "";
		return lines;
	}

	#take(piece: string): string[] {
		if (piece === "") return [];
		const text = this.#isAfterReturn && piece.startsWith("\n") ? piece.slice(1) : piece;
		this.#isAfterReturn = this.#rule.isReturnAnEnd && text.endsWith("\r");
		const [first = "", ...others] = this.#rule.split(text);
		const whole = [this.#rest + first, ...others];
		this.#rest = whole.pop() ?? "";
		const lines = this.#texts(whole.flatMap((line) => this.#cut(line)));
		const parts = this.#cut(this.#rest);
		this.#rest = parts.pop() ?? "";
		lines.push(...this.#texts(parts));
		return lines;
	}

	#texts(lines: readonly string[]): string[] {
		return lines.map((line) => this.#rule.textOf(line)).filter((text) => text !== undefined);
	}

	/** Splits a line into parts of the longest length; only the last may be shorter. */
	#cut(line: string): string[] {
		const parts: string[] = [];
		let from = 0;
		while (line.length - from > this.#longest) {
			// Not between the halves of a surrogate pair.
			const isPair = /[\uD800-\uDBFF]/.test(line.charAt(from + this.#longest - 1));
			const to = from + this.#longest - (isPair ? 1 : 0);
			parts.push(line.slice(from, to));
			from = to;
		}
		return [...parts, from === 0 ? line : line.slice(from)];
	}
}
