import { describe, expect, it } from "vitest";
import { defaultEscape, EscapeKeys, escapeHelp, parseEscape } from "../../../src/cli/attach/escape-keys.ts";

/** The bytes sent for the typed chunks; `|` for detaching, `<command>` for other commands. */
function typed(...pieces: string[]): string {
	return pressed(new EscapeKeys(), pieces);
}

function pressed(keys: EscapeKeys, pieces: readonly string[]): string {
	let sent = "";
	for (const piece of pieces) {
		const { bytes, commands } = keys.push(Buffer.from(piece, "latin1"));
		sent += bytes.toString("latin1");
		for (const wish of commands) sent += wish === "leave" ? "|" : `<${wish}>`;
		if (commands.includes("leave")) break;
	}
	return sent;
}

describe("detach keys", () => {
	it.each([
		["~. at the start detaches", ["~."], "|"],
		["~. after Enter detaches", ["ls\r~."], "ls\r|"],
		["~. in chunks detaches", ["ls\r", "~", "."], "ls\r|"],
		["~. after Ctrl-C detaches", ["x\u0003~."], "x\u0003|"],
		["Ctrl-] d detaches anywhere", ["abc\u001dd"], "abc|"],
		["input after a detach is dropped", ["~.rm -rf x\r"], "|"],
		["Ctrl-] in kitty's encoding detaches", ["\u001b[93;5u", "d"], "|"],
		["Ctrl-] with reported releases detaches", ["\u001b[93;5u\u001b[93;5:3u\u001b[100u"], "\u001b[93;5:3u|"],
		["Ctrl-] in xterm's encoding detaches", ["\u001b[27;5;93~d"], "|"],
	])("%s", (_, pieces, expected) => expect(typed(...pieces)).toBe(expected));

	it.each([
		["~. inside a line is sent", ["a~."], "a~."],
		["~~ sends ~", ["~~."], "~."],
		["Ctrl-] Ctrl-] sends Ctrl-]", ["\u001d\u001d"], "\u001d"],
		["~ before another key is sent", ["~/bin\r"], "~/bin\r"],
		["a sent ~ ends the start of the line", ["~/~."], "~/~."],
		["Ctrl-] before another key is sent", ["\u001dx"], "\u001dx"],
		["Ctrl-C goes to the program", ["\u0003\u0003"], "\u0003\u0003"],
		["pasted text never matches", ["\u001b[200~\r~.\u001dd\u001b[201~"], "\u001b[200~\r~.\u001dd\u001b[201~"],
		["any bytes pass", ["\u0000\u00ff\u0080\u001b[A"], "\u0000\u00ff\u0080\u001b[A"],
	])("%s", (_, pieces, expected) => expect(typed(...pieces)).toBe(expected));
});

describe("other hawser keys", () => {
	it.each([
		["~? shows help", ["~?"], "<help>"],
		["~? keeps the start of the line", ["~?", "~."], "<help>|"],
		["~T, ~W and ~R run their commands", ["x\r~T", "~W", "~R"], "x\r<take><who><redraw>"],
		["Ctrl-] runs them anywhere", ["a\u001dt", "\u001dW", "\u001dr", "\u001d?"], "a<take><who><redraw><help>"],
		["Ctrl-Z after a prefix suspends", ["x\r~\u001a", "a\u001d\u001a"], "x\r<suspend>a<suspend>"],
		["~tom is sent", ["~tom\r"], "~tom\r"],
	])("%s", (_, pieces, expected) => expect(typed(...pieces)).toBe(expected));

	it.each([
		["%", ["~.\r%."], "~.\r|"],
		["%", ["\u001dd"], "\u001dd"],
		["^a", ["~.\u0001\u0001\u0001d"], "~.\u0001|"],
		["C-a", ["x\u001b[97;5ud"], "x|"],
		["none", ["~.\u001dd"], "~.\u001dd"],
	])("--escape %s sets the prefix", (key, pieces, expected) => {
		expect(pressed(new EscapeKeys(parseEscape(key)), pieces)).toBe(expected);
	});

	it("the help is aligned, and a viewer's lacks the commands of writers", () => {
		const rows = escapeHelp(defaultEscape, { isViewer: false }).slice(1);
		const words = ["detach", "list", "take", "redraw", "suspend", "send"];
		expect(rows.map((row, index) => row.indexOf(` ${words[index]}`))).toEqual(
			words.map(() => rows[0]?.indexOf(" detach")),
		);
		const viewers = escapeHelp(defaultEscape, { isViewer: true }).join("\n");
		expect(viewers).toContain("list attached clients");
		expect(viewers).not.toMatch(/take exclusive control|redraw/);
	});

	it.each(["", "ab", "^1", "\u0001"])("--escape rejects %j", (key) => {
		expect(() => parseEscape(key)).toThrow("expected a character such as ~");
	});
});
