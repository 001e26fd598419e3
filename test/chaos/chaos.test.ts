/** A short chaos run over everything at once; `npm run chaos` has longer ones. */

import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { campaign } from "../../chaos/campaign.ts";
import { faultClasses } from "../../chaos/faults.ts";
import { Transcript, WitnessRecord } from "../../chaos/record.ts";
import { temporaryDirectory } from "../support/temporary.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));

test("readers of every kind and the programs get each byte once while servers, keepers, disks and clocks fail", async () => {
	const seed = Number(process.env.SEED ?? Date.now() % 1_000_000);
	console.info(`seed ${seed}: repeat with SEED=${seed}`);
	const result = await campaign({ root, seed, seconds: 8, sessions: 3, classes: faultClasses });
	expect(result.problems).toEqual([]);
	expect(result.compared).toBeGreaterThan(result.wrote);
	expect(Object.values(result.faults).length).toBeGreaterThan(0);
}, 120_000);

async function transcriptOf(wrote: string): Promise<Transcript> {
	const directory = await temporaryDirectory();
	await writeFile(join(directory, "wrote"), wrote);
	return new Transcript("a reader", new WitnessRecord(directory));
}

test.each([
	["other bytes", (one: Transcript) => one.output(0, Buffer.from("hellO")), "differs"],
	[
		"bytes twice",
		(one: Transcript) => [one.output(0, Buffer.from("hello")), one.output(0, Buffer.from("hello"))],
		"expected 5",
	],
	["a hole", (one: Transcript) => one.output(2, Buffer.from("llo")), "expected 0"],
	["an empty gap", (one: Transcript) => one.gap(0, 0, "live"), "gap from 0 to 0"],
	[
		"output after the end",
		(one: Transcript) => [one.end("closed", 0), one.output(0, Buffer.from("hello"))],
		"after the end",
	],
	["an end before the last byte", (one: Transcript) => one.end("closed", 5), "expected 0"],
	["two ends", (one: Transcript) => [one.end("closed", 0), one.end("closed", 0)], "ended twice"],
])("a chaos run notices a reader that gets %s", async (_name, read, problem) => {
	const transcript = await transcriptOf("hello");
	read(transcript);
	expect(transcript.problems.join("\n")).toContain(problem);
});

test("a chaos run has no complaint about a reader that gets every byte once", async () => {
	const transcript = await transcriptOf("hello");
	transcript.output(0, Buffer.from("he"));
	transcript.gap(2, 3, "live");
	transcript.output(3, Buffer.from("lo"));
	transcript.exited(7);
	transcript.end("closed", 5);
	expect(transcript.problems).toEqual([]);
	expect(transcript.ending).toEqual({ kind: "closed", offset: 5, exitCode: 7 });
});
