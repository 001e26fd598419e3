/** What a command wrote, as text. */

import { expect, test } from "vitest";
import { shellText } from "../../src/core/shell-output.ts";
import { processorMs } from "../helpers/processor-time.ts";

const KEY = "0123456789abcdef01234567";
const mark = (text: string) => `\u001b]${text}${KEY}\u001b\\`;
const textOf = (text: string) => shellText(new TextEncoder().encode(text));

test("no mark of the hooks is in the text, nor what bash writes between two of them", () => {
	const before = `${mark("133;O;h=")}12:00 \r\n${mark("133;C;t=1;n=7;h=")}`;
	const ends = mark(`133;D;0;n=7.${KEY};h=`) + mark("633;E;echo b\\x3b;") + mark("133;P;k=s;h=");
	const prompt = `${mark("133;A;h=")}$ ${mark("133;B;h=")}`;
	expect(textOf(`a\r\n${before}b\r\n${ends}${prompt}`)).toBe("a\nb\n$ ");
	expect(textOf("\u001b]133;A\u001b\\ \u001b]0;title\u0007")).toBe("\u001b]133;A\u001b\\ \u001b]0;title\u0007");
});

test("text of nothing but marks that are never followed by the second takes time in proportion to its length", async () => {
	const text = mark("133;O;h=").repeat(200_000);
	// It took 3 s when each of them was searched from; it takes 0.1 s.
	expect(await processorMs(() => expect(textOf(text)).toBe(""))).toBeLessThan(1_000);
});
