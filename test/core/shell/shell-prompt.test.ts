/** Shells whose inspection and output marks disagree. */

import { expect, test } from "vitest";
import type { ProcessSnapshot } from "../../../src/core/process/process-snapshot.ts";
import type { ShellPhase } from "../../../src/core/shell/shell-marks.ts";
import { ShellPrompt } from "../../../src/core/shell/shell-prompt.ts";

const AT_PROMPT = 1000;
const IN_READ = 2000;

function shell() {
	const state: { phase: ShellPhase | null } = { phase: "prompt" };
	const prompt = new ShellPrompt({
		argv: ["fish"],
		pid: () => 7,
		phase: () => state.phase,
		isPrompting: () => false,
		takesPastes: () => true,
		tail: () => "$ ",
	});
	const sight = (depth: number): ProcessSnapshot => ({
		hasTerminal: true,
		isInner: false,
		isSplit: false,
		canonical: false,
		echo: false,
		unread: 0,
		runs: false,
		reads: true,
		writes: false,
		listens: false,
		isOnDisk: false,
		isStopped: false,
		isDenied: false,
		pid: 7,
		image: "7.1",
		program: "fish",
		cwd: "/",
		call: "read",
		depth,
		argv: ["fish"],
		processes: 1,
	});
	return (phase: ShellPhase | null, depth: number, { turns = 1, isMarked = true } = {}) => {
		state.phase = phase;
		return prompt.judge(sight(depth), { isMarked, isAsking: false, turns });
	};
}

test("an inspection ahead of the output does not make a built-in's question the prompt", () => {
	const judge = shell();
	judge("prompt", AT_PROMPT);
	judge("prompt", IN_READ);
	expect(judge("running", IN_READ)).toBeNull();
	expect(judge("running", AT_PROMPT)).toBe("likely");
});

test("a depth seen at the prompt by two inspections in a row replaces one learned too early", () => {
	const judge = shell();
	judge("prompt", IN_READ);
	judge("running", IN_READ);
	judge("prompt", AT_PROMPT);
	judge("prompt", AT_PROMPT);
	expect(judge("running", IN_READ)).toBeNull();
	expect(judge("running", AT_PROMPT)).toBe("likely");
});

test.each([[-32], [32]])(
	"a shell without hooks that reads its second command %s bytes deeper than its first is at its prompt",
	(bytes) => {
		const judge = shell();
		const at = (depth: number, turns: number) => judge(null, depth, { turns, isMarked: false });
		expect(at(AT_PROMPT, 0)).toBe("likely");
		expect(at(AT_PROMPT + bytes, 1)).toBe("likely");
		expect(at(AT_PROMPT, 2)).toBe("likely");
		// A prompt has at most two depths.
		expect(at(AT_PROMPT - bytes, 3)).toBeNull();
		expect(at(AT_PROMPT + bytes, 4)).toBe("likely");
	},
);

test("a shell without hooks that reads 96 bytes deeper than at its prompt is inside an unfinished command", () => {
	const judge = shell();
	const at = (depth: number, turns: number) => judge(null, depth, { turns, isMarked: false });
	expect(at(AT_PROMPT, 0)).toBe("likely");
	expect(at(AT_PROMPT + 96, 1)).toBeNull();
	expect(at(AT_PROMPT, 2)).toBe("likely");
});
