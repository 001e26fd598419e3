import { expect, test } from "vitest";
import { lineDiff } from "../../../src/cli/agent-hooks/line-diff.ts";

const numbered = (count: number) => Array.from({ length: count }, (_, index) => `${index}\n`).join("");

test("a diff shows added and removed lines with some around them", () => {
	expect(lineDiff("a\nb\nc\n", "a\nx\nc\n")).toBe("  a\n- b\n+ x\n  c\n");
	expect(lineDiff("", "a\n")).toBe("+ a\n");
	expect(lineDiff("a\n", "")).toBe("- a\n");
	expect(lineDiff("a\r\nb\r\n", "a\r\nb\r\n")).toBe("");
});

test("lines between two changes are left out", () => {
	const text = numbered(20);
	expect(lineDiff(text, `first\n${text}last\n`)).toBe("+ first\n  0\n  1\n  2\n  …\n  17\n  18\n  19\n+ last\n");
});

test("a very large change is shown as blocks", () => {
	const one = numbered(3_000);
	const other = one.replaceAll("\n", " \n");
	expect(lineDiff(one, other).split("\n")).toHaveLength(6_001);
});
