import { describe, expect, test } from "vitest";
import { OutputFilter } from "../../../src/cli/terminal/output-filter.ts";
import { StatusMirror } from "../../../src/cli/terminal/program-status.ts";

const report = (body: string, end = "\u0007") => `\u001b]7501;${body}${end}`;
const CLEAR = report("state=clear", "\u001b\\");

function typed(mirror: StatusMirror, ...chunks: string[]): string {
	return chunks.map((chunk) => mirror.takeReplies(Buffer.from(chunk, "latin1")).toString("latin1")).join("");
}

/** The status mirror of a terminal that keeps records. */
function knowing(...sequences: string[]): StatusMirror {
	const mirror = new StatusMirror();
	for (const sequence of sequences) mirror.observe(sequence);
	typed(mirror, report("?"));
	return mirror;
}

describe("replies of our own terminal", () => {
	test.each(["\u0007", "\u001b\\"])(
		"a reply that ends with %j is removed from the input, wherever a chunk ends",
		(end) => {
			const all = `a${report("?", end)}b\u001b[A`;
			for (let cut = 0; cut <= all.length; cut++) {
				// A shorter start of a reply may be a key.
				if (cut === 2 || cut === 3) continue;
				const mirror = new StatusMirror();
				expect(typed(mirror, all.slice(0, cut), all.slice(cut)), `cut at ${cut}`).toBe("ab\u001b[A");
				expect(mirror.isKnown).toBe(true);
			}
		},
	);

	test("keys pass at once", () => {
		const mirror = new StatusMirror();
		for (const key of ["\u001b", "\u001b]", "x", "\u001b[A", "\u001bOP", "ü"]) expect(typed(mirror, key)).toBe(key);
		expect(mirror.isKnown).toBe(false);
	});
});

describe("records of the session", () => {
	test("a terminal that keeps records gets the current ones, and they are cleared again", () => {
		const mirror = knowing(report("state=working:app=x"), report("state=done:id=a"), report("state=blocked:id=b"));
		expect(mirror.current()).toBe(
			`${report("state=working:app=x", "\u001b\\")}${report("state=done:id=a", "\u001b\\")}${report("state=blocked:id=b", "\u001b\\")}`,
		);
		expect(mirror.clear()).toBe(CLEAR);
		const children = knowing(report("state=done:id=a"), report("state=done:id=b/c"));
		expect(children.clear()).toBe(
			`${report("state=clear:id=a", "\u001b\\")}${report("state=clear:id=b/c", "\u001b\\")}`,
		);
	});

	test("a terminal without records gets nothing", () => {
		const mirror = new StatusMirror();
		mirror.observe(report("state=working"));
		expect([mirror.current(), mirror.clear()]).toEqual(["", ""]);
	});

	test("a session without records clears none of the terminal", () => {
		expect(knowing().clear()).toBe("");
		expect(knowing(report("state=working"), "\u001bc").clear()).toBe("");
		expect(knowing(report("state=working"), "\u001b]133;A\u0007").clear()).toBe("");
	});

	test("a replay reports no old record, and keeps the newest", () => {
		const output = new OutputFilter();
		const old = `a${report("state=blocked:app=x")}b${report("state=done:app=x")}c`;
		expect(Buffer.from(output.push(Buffer.from(old), "replay")).toString()).toBe("abc");
		typed(output.status, report("?"));
		expect(output.status.current()).toBe(report("state=done:app=x", "\u001b\\"));
	});
});
