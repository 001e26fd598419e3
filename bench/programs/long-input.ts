/** Types a megabyte into a program that edits lines, in a keeper, as often as wanted, and counts the files that differ. */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { offer } from "../../src/core/offer.ts";
import { TextMatcher, waitFor } from "../../src/fronts/wait.ts";
import { type Editor, longText, writing } from "../../test/shell/long-texts.ts";
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
	await offer(session, { kind: "write", bytes }, { origin, until: "written" });
	// All that was typed has been read when it waits again.
	const match = new TextMatcher("ten\n");
	await waitFor(session, { match }, { from, timeoutMs: PATIENCE_MS, signal, flow: "lossless" });
	if (readFileSync(join(directory, "file"), "utf8") !== text) lost++;
}
const seconds = (performance.now() - begin) / 1000 / files;
await home.close();
finish({ lost, seconds });
