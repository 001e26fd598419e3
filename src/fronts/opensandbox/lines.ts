/** Output as lines of text: bytes in any pieces, the same lines whatever the pieces are. */

/**
 * Lines longer than this, in UTF-16 units, are cut into several, so that none is waited for without a bound. Where each
 * is escaped it is six times as long, and clients take no more than 4 MiB for one event.
 */
export const LONGEST_LINE: number = 512 * 1024;

/** How one endpoint makes lines of text. */
export type LineRule = {
	/** The lines of a piece; the last one goes on in the next piece. */
	split(text: string): string[];
	/** Whether `\n` right after `\r` ends no line, because the `\r` did. */
	readonly isReturnAnEnd: boolean;
	/** What is sent for a line; undefined sends nothing. */
	textOf(line: string): string | undefined;
};

/** `/command`: carriage returns end lines too, so that each update of a progress bar is one, and empty lines are kept. */
export const commandLines: LineRule = {
	split: (text) => (text.includes("\r") ? text.split(/\r\n|\r|\n/) : text.split("\n")),
	isReturnAnEnd: true,
	textOf: (line) => (line === "" ? "\n" : line),
};

/** `/session/:id/run`: lines end with `\n`, with one `\r` before it or not, and empty ones are not sent. */
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
	/** A character may be cut by the end of a piece; what is none becomes U+FFFD. */
	readonly #decoder = new TextDecoder("utf-8", { ignoreBOM: true });
	#rest = "";
	#isAfterReturn = false;

	constructor(rule: LineRule, longest: number = LONGEST_LINE) {
		this.#rule = rule;
		this.#longest = longest;
	}

	/** The lines that these bytes complete. */
	push(bytes: Uint8Array): string[] {
		return this.#take(this.#decoder.decode(bytes, { stream: true }));
	}

	/** What is left without an end. */
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

	/** Pieces of which all but the last are as long as may be, and the last is not empty unless the line is. */
	#cut(line: string): string[] {
		const parts: string[] = [];
		let from = 0;
		while (line.length - from > this.#longest) {
			// Not between the halves of one character.
			const isPair = /[\uD800-\uDBFF]/.test(line.charAt(from + this.#longest - 1));
			const to = from + this.#longest - (isPair ? 1 : 0);
			parts.push(line.slice(from, to));
			from = to;
		}
		return [...parts, from === 0 ? line : line.slice(from)];
	}
}
