/**
 * Replaces keys and tokens in text for agents by their kind: `[redacted: aws key]`. They are recognized by their form,
 * which is no guarantee: a secret that looks like a word stays. Users and the log get the text unchanged, and offsets
 * refer to the original output.
 *
 * A form starts at a word boundary and continues with one class of characters. So a text is scanned once, and no input
 * can make that slow.
 */

/**
 * Longer than any rendered line, in UTF-16 units. The continuation of a line is scanned together with this much before it.
 * @limit text of one line that is searched for keys together | % characters | a key that is further apart is not recognized
 */
const LONGEST_BEFORE = 4 * 1024;
/**
 * Longest private key. A longer block that begins like one is not a key.
 * @limit lines of a private key | the rest is not redacted
 */
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

/** Text before the secret that is not part of it. */
function behind(source: string): string {
	const anyCase = source.replace(/(?<!\\)[a-z]/g, (letter) => `[${letter}${letter.toUpperCase()}]`);
	return `(?<=${anyCase})`;
}

/** A complete form, or its beginning at the end of the text, since the rest may follow. */
const FORM_SOURCES: readonly string[] = FORMS.map(({ begin, letters, least }) => {
	const start = begin.startsWith("(?<=") ? begin : `(?<![A-Za-z0-9_])${begin}`;
	return `(${start}(?:[${letters}]{${least},}|[${letters}]{1,${least - 1}}$))`;
});
/** A password in a URL: `scheme://user:PASSWORD@host`. */
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

export class Redactor {
	/** The part of the current line that is already processed. */
	#before = "";
	/** Lines of a private key so far; undefined outside a key. */
	#keyLines: number | undefined;

	/** `before` is the text before the first line, in which a secret may begin. */
	constructor(before = "") {
		const lines = before.split("\n");
		for (const line of lines.slice(0, -1)) this.line(line, false);
		this.line(lines.at(-1) ?? "", true);
	}

	/** Redacts a line, or a part of one if `goesOn`; undefined within a private key. */
	line(text: string, goesOn: boolean): string | undefined {
		if (this.#keyLines !== undefined && this.#keyLines < MOST_KEY_LINES) {
			if (!KEY_IS_CLOSED.test(text)) {
				this.#keyLines++;
				return undefined;
			}
			this.#keyLines = undefined;
			return this.#redacted(text.replace(KEY_IS_CLOSED, ""), goesOn);
		}
		this.#keyLines = opensKey(text) ? 0 : undefined;
		return this.#redacted(text, goesOn);
	}

	#redacted(text: string, goesOn: boolean): string {
		const before = this.#before;
		const all = before + text;
		this.#before = goesOn ? all.slice(-LONGEST_BEFORE) : "";
		return replaced(all, before.length);
	}
}

/** Whether a private key begins in the line without ending there. */
function opensKey(line: string): boolean {
	let isOpen = false;
	for (const [, begin] of line.matchAll(KEY_BORDER)) isOpen = begin !== undefined;
	return isOpen;
}

/** Redacts a text of complete lines. */
export function redact(text: string): string {
	const redaction = new Redactor();
	return text
		.split("\n")
		.map((line) => redaction.line(line, false))
		.filter((line) => line !== undefined)
		.join("\n");
}

/** Redacts the rows of a screen. A row that is full continues in the next one. */
export function redactedRows(rows: readonly string[], cols: number): string[] {
	const redactedLines: string[] = [];
	const redaction = new Redactor();
	for (let from = 0; from < rows.length; ) {
		let to = from + 1;
		while (to < rows.length && rows[to - 1]?.length === cols) to++;
		const own = rows.slice(from, to);
		const line = redaction.line(own.join(""), false);
		// Rows of a key become empty, so that the other rows keep their numbers.
		if (line === own.join("")) redactedLines.push(...own);
		else redactedLines.push(line ?? "", ...own.slice(1).map(() => ""));
		from = to;
	}
	return redactedLines;
}

/** The text from an index on, with marks for secrets that end after it. */
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
