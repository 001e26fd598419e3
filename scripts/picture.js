#!/usr/bin/env node
/**
 * Renders docs/images/tour.svg: runs the commands of the README's tour and shows their output.
 *
 * Run it by hand when the output of the commands changes: `npm run build && node scripts/picture.js`.
 */

import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const picture = join(root, "docs/images/tour.svg");
const lineHeight = 20;
const charWidth = 8.43;
const margin = 20;
const colours = { typed: "#e6edf3", answer: "#9aa7b4", comment: "#7ee787" };

const steps = [
	"# a shell that outlives its server",
	"hawser run --detach --name work -- bash --norc",
	"hawser send work 'echo hello from $$' --enter",
	"hawser wait work --match 'from [0-9]+' && hawser logs work",
	"# kill the server, and continue in the same shell",
	"hawser stop --force",
	"hawser run --detach -- true",
	"hawser send work 'echo still $$' --enter",
	"hawser wait work --match 'still [0-9]+' && hawser logs work",
	"hawser ls",
];

const folder = mkdtempSync(join(tmpdir(), "hawser-picture-"));
try {
	mkdirSync(join(folder, "bin"));
	symlinkSync(join(root, "dist/cli/main.js"), join(folder, "bin/hawser"));
	const lines = steps.flatMap((typed) => [
		{ kind: typed.startsWith("#") ? "comment" : "typed", text: `$ ${typed}` },
		...answerTo(typed).map((text) => ({ kind: "answer", text })),
	]);
	mkdirSync(join(root, "docs/images"), { recursive: true });
	writeFileSync(picture, draw(lines));
} finally {
	answerTo("hawser rm --force work");
	process.kill(JSON.parse(readFileSync(join(folder, ".local/state/hawser/server.json"), "utf8")).pid, "SIGKILL");
	rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
}

/** The lines of a command's output, including stderr. */
function answerTo(command) {
	const env = { PATH: `${join(folder, "bin")}:${process.env.PATH}`, HOME: folder };
	const { stdout } = spawnSync("bash", ["-c", `exec 2>&1; ${command}`], { cwd: folder, env, encoding: "utf8" });
	// Removes the escape sequences with which bash enables bracketed paste.
	const text = stdout
		.replaceAll(folder, "~")
		.replaceAll(/\x1b\[\?2004[hl]\r?|\r/g, "")
		.trimEnd();
	return text === "" ? [] : text.split("\n");
}

function draw(lines) {
	const width = Math.ceil(Math.max(...lines.map(({ text }) => text.length)) * charWidth + 2 * margin);
	const height = lines.length * lineHeight + 2 * margin;
	const text = lines.map(({ kind, text }, row) => {
		const y = margin + (row + 0.75) * lineHeight;
		return `\t<text x="${margin}" y="${y}" fill="${colours[kind]}" xml:space="preserve">${escaped(text)}</text>`;
	});
	return [
		`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" font-family="ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace" font-size="14">`,
		"\t<title>A shell keeps running after its server was killed</title>",
		`\t<rect width="${width}" height="${height}" rx="8" fill="#0d1117"/>`,
		...text,
		"</svg>\n",
	].join("\n");
}

function escaped(text) {
	return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
}
