import { expect, onTestFinished, test } from "vitest";
import { inspect } from "../../src/native/addon.ts";
import { startProgram } from "../helpers/programs.ts";

/** Some of so many were wrong. */
const LOOKS = 3_000;
/** In a look that takes longer than the program takes input at a time, it may have been raw before and after that. */
const INPUT_MS = 20;

/** Has its terminal raw while it computes, for a moment, and never while it takes input. */
const CHANGING = `
import select, termios, time, tty
lines = termios.tcgetattr(0)
tty.setraw(0)
keys = termios.tcgetattr(0)
while True:
    termios.tcsetattr(0, termios.TCSANOW, keys)
    end = time.perf_counter() + 0.0003
    while time.perf_counter() < end: pass
    termios.tcsetattr(0, termios.TCSANOW, lines)
    select.select([0], [], [], ${INPUT_MS / 1000})
`;

test("a program that changes how it reads is never seen to read in one way, in the mode of the other", async () => {
	// What is looked at is below the shell.
	const argv = ["sh", "-c", '/usr/bin/python3 -c "$0"; :', CHANGING];
	const { pid, input, end } = await startProgram(argv, { stdio: "pty" });
	onTestFinished(() => end());
	const seen = new Set<string>();
	for (let looks = 0; looks < LOOKS; ) {
		const begun = performance.now();
		const { listens, canonical } = await inspect(input, pid);
		if (!listens || performance.now() - begun >= INPUT_MS) continue;
		looks++;
		seen.add(canonical ? "lines" : "keys");
	}
	expect([...seen]).toEqual(["lines"]);
});
