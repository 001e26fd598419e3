/** Long texts, and programs that edit the lines which are typed into them and can write one to a file. */

/** As long as is wanted, in lines that differ, without what would end it anywhere. */
export function longText(bytes: number): string {
	const lines = Array.from({ length: Math.ceil(bytes / 80) }, (_, index) => `line ${index} `.padEnd(79, "abcdefgh"));
	return `${lines.join("\n").slice(0, bytes - 1)}\n`;
}

export const editors = ["python3", "sqlite3"] as const;
export type Editor = (typeof editors)[number];

type Writing = {
	readonly argv: readonly string[];
	/** What is typed before and after a text, so that it is written to `file`, and `WRITTEN` is printed then. */
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
