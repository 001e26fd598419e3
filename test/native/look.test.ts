import { expect, onTestFinished, test } from "vitest";
import { inspect } from "../../src/native/addon.ts";
import { startProgram } from "../support/programs.ts";

/** With this many inspections, some used to be wrong. */
const LOOKS = 3_000;
/** An inspection longer than the program's input phase may see the raw terminal before and after it. */
const INPUT_MS = 20;

/** Sets its terminal raw for moments while it computes, and never while it reads input. */
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
	// The inspected program is a child of the shell.
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
