#!/usr/bin/env node
/**
 * Counts sentences in the voice that CONTRIBUTING.md asks writers to avoid: `node scripts/voice.js [--list] [PATH…]`.
 *
 * It reads comments, strings and Markdown. A sentence counts when it opens with one of `openings`, or contains one of
 * `phrases`. Some uses are right, so the check allows a few (`ALLOWED`) instead of none.
 */

import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** Sentences that may remain; above this number `npm run check` fails. */
const ALLOWED = 60;

const openings = /^(Who|Whoever|Whose|What|Of|That|Nobody|Somebody)\b(?!['’]s\b)/;
const phrases = /\b(whoever|somebody|nobody|hears? of|(?:is|are|was|were) told)\b/i;

const roots = ["src", "web", "native", "shell", "clients", "scripts", "bench", "chaos", "test", "examples"];
const readable = /\.(ts|js|mjs|c|h|py|css|html|md|sh|bash|zsh|fish)$/;

const args = process.argv.slice(2);
const isListed = args.includes("--list");
const paths = args.filter((arg) => arg !== "--list");

process.chdir(fileURLToPath(new URL("..", import.meta.url)));
const { stdout } = spawnSync("git", ["ls-files", "--", ...(paths.length > 0 ? paths : [...roots, "docs", "*.md"])], {
	encoding: "utf8",
	maxBuffer: 16 * 1024 * 1024,
});
const found = stdout
	.split("\n")
	.filter((path) => readable.test(path) && path !== "scripts/voice.js")
	.flatMap((path) => sentencesOf(path).map((sentence) => ({ path, ...sentence })));

if (isListed) for (const { path, line, text } of found) console.log(`${path}:${line}: ${text}`);
const folders = new Map();
for (const { path } of found) {
	const folder = path.split("/").slice(0, 2).join("/");
	folders.set(folder, (folders.get(folder) ?? 0) + 1);
}
for (const [folder, count] of [...folders].sort((a, b) => b[1] - a[1])) console.log(`${count}\t${folder}`);
console.log(`${found.length} sentences in the old voice (${ALLOWED} allowed)`);
if (paths.length === 0 && found.length > ALLOWED) process.exitCode = 1;

/** The sentences that count. A question is right to open with "What". */
function sentencesOf(path) {
	return proseOf(path, readFileSync(path, "utf8")).flatMap(({ line, text }) =>
		text
			.split(/(?<=[.!?:;]) +/)
			.filter((sentence) => !sentence.endsWith("?") && (openings.test(sentence) || phrases.test(sentence)))
			.map((sentence) => ({ line, text: sentence })),
	);
}

/** Comments, strings and Markdown paragraphs of a file. Lines of one comment are joined, so that a sentence is whole. */
function proseOf(path, text) {
	if (/\.md$/.test(path)) return markdownLines(text);
	const pattern = /\.(py|sh|bash|zsh|fish)$/.test(path)
		? /(?:^[ \t]*#[^\n]*\n?)+|"""[\s\S]*?"""|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'/gm
		: /\/\*[\s\S]*?\*\/|(?:(?<![:"'`\w])\/\/[^\n]*\n?[ \t]*)+|"(?:[^"\\\n]|\\.)*"|`(?:[^`\\]|\\.)*`/g;
	return [...text.matchAll(pattern)]
		.map(([match]) => match)
		.reduce(
			(all, match) => {
				const at = text.indexOf(match, all.from);
				const line = text.slice(0, at).split("\n").length;
				all.list.push({
					line,
					text: match
						.replace(/^\s*(?:\/\*\*?|\*\/|\*|\/\/|#|"""|["'`])|(?:\*\/|"""|["'`])\s*$/g, "")
						.replace(/\n\s*(?:\*|\/\/|#)?[ \t]*/g, " ")
						.trim(),
				});
				all.from = at + match.length;
				return all;
			},
			{ list: [], from: 0 },
		).list;
}

function markdownLines(text) {
	let isCode = false;
	return text.split("\n").flatMap((line, index) => {
		if (line.startsWith("```")) isCode = !isCode;
		return isCode || line.startsWith("```") ? [] : [{ line: index + 1, text: line.replace(/^[\s>#|*-]+/, "") }];
	});
}
