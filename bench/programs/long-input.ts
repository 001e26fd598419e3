/** Types a megabyte repeatedly into a program that edits lines, in a keeper, and counts the files that differ. */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { sendInParts } from "../../src/core/session/send-input.ts";
import { TextMatcher, waitFor } from "../../src/services/waits/wait.ts";
import { type Editor, longText, writing } from "../../test/shell/support/long-texts.ts";
import { BenchHome } from "../homes.ts";
import { finish, readInput } from "./input.ts";

export type LongInputInput = { readonly editor: Editor; readonly files: number };

const BYTES = 1_000_000;
const PATIENCE_MS = 120_000;

const { editor, files, directory } = readInput<LongInputInput>();
const { argv, before, after } = writing[editor];
const home = await BenchHome.open({ kind: "keeper", directory });
const session = await home.start(argv, { mode: "pty", cwd: directory });
const { signal } = new AbortController();

let lost = 0;
const begin = performance.now();
for (let turn = 0; turn < files; turn++) {
	const text = `${turn}\n${longText(BYTES)}`;
	const { offset: from } = await session.end();
	const bytes = Buffer.from(before + text + after);
	const origin = { stream: `file-${turn}`, position: 0 };
	await sendInParts(session, { kind: "write", bytes }, { origin, until: "written" });
	// When the program waits again, it has read everything.
	const match = new TextMatcher("ten\n");
	await waitFor(session, { match }, { from, timeoutMs: PATIENCE_MS, signal, flow: "lossless" });
	if (readFileSync(join(directory, "file"), "utf8") !== text) lost++;
}
const seconds = (performance.now() - begin) / 1000 / files;
await home.close();
finish({ lost, seconds });
