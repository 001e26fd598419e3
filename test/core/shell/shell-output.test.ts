/** A command's output as text. */

import { expect, test } from "vitest";
import { shellText } from "../../../src/core/shell/shell-text.ts";
import { processorMs } from "../../support/cpu-time.ts";

const KEY = "0123456789abcdef01234567";
const mark = (text: string) => `\u001b]${text}${KEY}\u001b\\`;
const textOf = (text: string) => shellText(new TextEncoder().encode(text));

test("the text contains no mark of the hooks, nor what bash writes between two of them", () => {
	const before = `${mark("133;O;h=")}12:00 \r\n${mark("133;C;t=1;n=7;h=")}`;
	const ends = mark(`133;D;0;n=7.${KEY};h=`) + mark("633;E;echo b\\x3b;") + mark("133;P;k=s;h=");
	const prompt = `${mark("133;A;h=")}$ ${mark("133;B;h=")}`;
	expect(textOf(`a\r\n${before}b\r\n${ends}${prompt}`)).toBe("a\nb\n$ ");
	expect(textOf("\u001b]133;A\u001b\\ \u001b]0;title\u0007")).toBe("\u001b]133;A\u001b\\ \u001b]0;title\u0007");
});

test("a text of unpaired marks takes linear time", async () => {
	const text = mark("133;O;h=").repeat(200_000);
	// A search from each mark took 3 s. It takes 0.1 s now.
	expect(await processorMs(() => expect(textOf(text)).toBe(""))).toBeLessThan(1_000);
});
