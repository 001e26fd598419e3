/**
 * Keys and tokens in text that agents read, replaced by what they are: `[redacted: aws key]`. They are recognised by
 * their form, which is no promise: a secret that looks like a word stays. People, and the log, have everything as it was
 * written, and offsets are those of what was written.
 *
 * A form begins where no letter of it comes before, and one class of letters follows its beginning: a text is looked at
 * once, and nothing that somebody writes can make that slow.
 */

/** More than one line that is told has, in UTF-16 units: what a line goes on with is looked at together with this much of it. */
const LONGEST_BEFORE = 4 * 1024;
/** A private key has fewer lines; what begins like one and goes on for longer is none. */
const MOST_KEY_LINES = 200;

type Form = { readonly kind: string; readonly begin: string; readonly letters: string; readonly least: number };

const FORMS: readonly Form[] = [
	{ kind: "aws key", begin: "(?:AKIA|ASIA|ABIA|ACCA)", letters: "A-Z0-9", least: 16 },
	{ kind: "github token", begin: "gh[pousr]_", letters: "A-Za-z0-9_", least: 36 },
	{ kind: "github token", begin: "github_pat_", letters: "A-Za-z0-9_", least: 22 },
	{ kind: "gitlab token", begin: "gl(?:pat|dt|rt|ptt)-", letters: "A-Za-z0-9_-", least: 20 },
	{ kind: "slack token", begin: "xox[abeoprs]-", letters: "A-Za-z0-9-", least: 10 },
	{ kind: "google key", begin: "AIza", letters: "A-Za-z0-9_-", least: 35 },
	{ kind: "stripe key", begin: "[sr]k_(?:live|test)_", letters: "A-Za-z0-9", least: 16 },
	{ kind: "npm token", begin: "npm_", letters: "A-Za-z0-9", least: 36 },
	{ kind: "hugging face token", begin: "hf_", letters: "A-Za-z0-9", least: 30 },
	{ kind: "api key", begin: "sk-(?:ant-|proj-|svcacct-)?", letters: "A-Za-z0-9_-", least: 20 },
	{ kind: "jwt", begin: "eyJ", letters: "A-Za-z0-9_.-", least: 40 },
	{
		kind: "aws secret key",
		begin: behind("aws_secret_access_key[\"']?[ \\t]{0,8}[=:][ \\t]{0,8}[\"']?"),
		letters: "A-Za-z0-9/+=",
		least: 40,
	},
	{ kind: "bearer token", begin: behind("bearer "), letters: "A-Za-z0-9._~+/=-", least: 16 },
];

/** Text before the secret itself, which is not one. */
function behind(source: string): string {
	const anyCase = source.replace(/(?<!\\)[a-z]/g, (letter) => `[${letter}${letter.toUpperCase()}]`);
	return `(?<=${anyCase})`;
}

/** Whole, or only its beginning where the text ends: the rest may come later. */
const FORM_SOURCES: readonly string[] = FORMS.map(({ begin, letters, least }) => {
	const start = begin.startsWith("(?<=") ? begin : `(?<![A-Za-z0-9_])${begin}`;
	return `(${start}(?:[${letters}]{${least},}|[${letters}]{1,${least - 1}}$))`;
});
/** In an address: `scheme://user:PASSWORD@host`. */
const ADDRESS = "((?<=[a-z][a-z0-9+.-]{0,30}://[^\\s:/@]{0,64}:)[^\\s@/]{1,256}(?=@))";
const KEY_BEGIN = "-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY-----";
const KEY_END = "-----END [A-Z0-9 ]{0,40}PRIVATE KEY-----";

const KINDS: readonly string[] = [...FORMS.map(({ kind }) => kind), "password"];
const ANY = new RegExp([...FORM_SOURCES, ADDRESS].join("|"), "g");
const KEY = new RegExp(`${KEY_BEGIN}.*?(?:${KEY_END}|$)`, "g");
const KEY_BORDER = new RegExp(`(${KEY_BEGIN})|${KEY_END}`, "g");
const KEY_IS_CLOSED = new RegExp(`^.*?${KEY_END}`);

function marked(kind: string): string {
	return `[redacted: ${kind}]`;
}

export class Redaction {
	/** What comes before the next line in the same line. */
	#before = "";
	/** How many lines of a private key have come by now; undefined outside of one. */
	#keyLines: number | undefined;

	/** `before` is the text that comes before what is to be told: a secret may have begun there. */
	constructor(before = "") {
		const lines = before.split("\n");
		for (const line of lines.slice(0, -1)) this.line(line, false);
		this.line(lines.at(-1) ?? "", true);
	}

	/** A line, or a part of one that `goesOn`, as it may be told; undefined for one of a private key. */
	line(text: string, goesOn: boolean): string | undefined {
		if (this.#keyLines !== undefined && this.#keyLines < MOST_KEY_LINES) {
			if (!KEY_IS_CLOSED.test(text)) {
				this.#keyLines++;
				return undefined;
			}
			this.#keyLines = undefined;
			return this.#told(text.replace(KEY_IS_CLOSED, ""), goesOn);
		}
		this.#keyLines = opensKey(text) ? 0 : undefined;
		return this.#told(text, goesOn);
	}

	#told(text: string, goesOn: boolean): string {
		const before = this.#before;
		const all = before + text;
		this.#before = goesOn ? all.slice(-LONGEST_BEFORE) : "";
		return replaced(all, before.length);
	}
}

/** Whether a private key begins in a line that does not end there. */
function opensKey(line: string): boolean {
	let isOpen = false;
	for (const [, begin] of line.matchAll(KEY_BORDER)) isOpen = begin !== undefined;
	return isOpen;
}

/** A text of whole lines as it may be told. */
export function redacted(text: string): string {
	const redaction = new Redaction();
	return text
		.split("\n")
		.map((line) => redaction.line(line, false))
		.filter((line) => line !== undefined)
		.join("\n");
}

/** The rows of a screen as they may be told: those that are filled to the end are one line with the next. */
export function redactedRows(rows: readonly string[], cols: number): string[] {
	const told: string[] = [];
	const redaction = new Redaction();
	for (let from = 0; from < rows.length; ) {
		let to = from + 1;
		while (to < rows.length && rows[to - 1]?.length === cols) to++;
		const own = rows.slice(from, to);
		const line = redaction.line(own.join(""), false);
		// Nothing is said of the rows of a key, but where the others are stays the same.
		if (line === own.join("")) told.push(...own);
		else told.push(line ?? "", ...own.slice(1).map(() => ""));
		from = to;
	}
	return told;
}

/** The text from a place on, with marks for what is or has begun before it and should not be told. */
function replaced(text: string, from: number): string {
	const parts: string[] = [];
	let at = from;
	for (const { start, end, kind } of secretsIn(text)) {
		if (end <= at) continue;
		parts.push(text.slice(at, Math.max(at, start)), marked(kind));
		at = end;
	}
	return parts.join("") + text.slice(at);
}

type Found = { readonly start: number; readonly end: number; readonly kind: string };

function secretsIn(text: string): Found[] {
	const found: Found[] = [];
	for (const match of text.matchAll(KEY))
		found.push({ start: match.index, end: match.index + match[0].length, kind: "private key" });
	for (const match of text.matchAll(ANY)) {
		const kind = KINDS[match.slice(1).findIndex((group) => group !== undefined)] ?? "secret";
		found.push({ start: match.index, end: match.index + match[0].length, kind });
	}
	return found.sort((one, other) => one.start - other.start);
}
