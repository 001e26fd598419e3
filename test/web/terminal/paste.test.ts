/** Clipboard texts, without a browser. */

import { expect, it } from "vitest";
import { clipboardText } from "../../../web/terminal/clipboard.ts";
import { asOneLine, isRisky, lineCount, pasted } from "../../../web/terminal/paste.ts";

it("a paste of several lines is risky without bracketed paste", () => {
	expect([lineCount("a"), lineCount("a\n"), lineCount("a\r\nb"), lineCount("a\nb\nc\n")]).toEqual([1, 1, 2, 3]);
	expect(isRisky("a\nb", false)).toBe(true);
	expect(isRisky("a\nb", true)).toBe(false);
	expect(isRisky("a\n", false)).toBe(false);
});

it("a pasted text can neither end its own bracket nor press keys", () => {
	expect(pasted("one\r\ntwo\n\tthree", false)).toBe("one\rtwo\r\tthree");
	expect(pasted("safe\u001b[201~rm -rf ~\u0003\n", true)).toBe("\u001b[200~safe[201~rm -rf ~\r\u001b[201~");
	expect(pasted("a\u009b1mb\u007fc", false)).toBe("a1mbc");
});

it("paste as one line joins lines with spaces", () => {
	expect(asOneLine("  a\n\n\tb \r\nc\n")).toBe("a b c");
});

it("a program can write the clipboard and never read it", () => {
	expect(clipboardText(`c;${btoa("hello")}`)).toBe("hello");
	expect(clipboardText(`;${Buffer.from("grüße").toString("base64")}`)).toBe("grüße");
	expect(clipboardText("c;?")).toBeUndefined();
	expect(clipboardText("c;no base64!")).toBeUndefined();
	expect(clipboardText(`c;${"A".repeat(2 ** 20 + 4)}`)).toBeUndefined();
});
