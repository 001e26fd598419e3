/** Long texts, and line-editing programs that can write typed text to a file. */

/** A text of this length with distinct lines, without anything that would end it early. */
export function longText(bytes: number): string {
	const lines = Array.from({ length: Math.ceil(bytes / 80) }, (_, index) => `line ${index} `.padEnd(79, "abcdefgh"));
	return `${lines.join("\n").slice(0, bytes - 1)}\n`;
}

export const editors = ["python3", "sqlite3"] as const;
export type Editor = (typeof editors)[number];

type Writing = {
	readonly argv: readonly string[];
	/** Typed before and after a text, so that it is written to `file` and then `WRITTEN` is printed. */
	readonly before: string;
	readonly after: string;
};

export const WRITTEN = /writ\d*ten/;

export const writing: Readonly<Record<Editor, Writing>> = {
	python3: {
		argv: ["/usr/bin/python3", "-q"],
		before: "open('file', 'w').write('''",
		after: "'''); print('writ' + 'ten')\n",
	},
	sqlite3: { argv: ["sqlite3"], before: "select 'writ' || writefile('file', '", after: "') || 'ten';\n" },
};
