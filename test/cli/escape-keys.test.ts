import { describe, expect, it } from "vitest";
import { defaultEscape, EscapeKeys, escapeHelp, parseEscape } from "../../src/cli/escape-keys.ts";

/** What is sent for pieces typed one after the other; `|` where the user leaves, `<wish>` for anything else. */
function typed(...pieces: string[]): string {
	return pressed(new EscapeKeys(), pieces);
}

function pressed(keys: EscapeKeys, pieces: readonly string[]): string {
	let sent = "";
	for (const piece of pieces) {
		const { bytes, wishes } = keys.push(Buffer.from(piece, "latin1"));
		sent += bytes.toString("latin1");
		for (const wish of wishes) sent += wish === "leave" ? "|" : `<${wish}>`;
		if (wishes.includes("leave")) break;
	}
	return sent;
}

describe("the keys that leave", () => {
	it.each([
		["~ and . at the very start", ["~."], "|"],
		["after a return", ["ls\r~."], "ls\r|"],
		["in pieces", ["ls\r", "~", "."], "ls\r|"],
		["after Ctrl-C", ["x\u0003~."], "x\u0003|"],
		["Ctrl-] d anywhere", ["abc\u001dd"], "abc|"],
		["what follows is dropped", ["~.rm -rf x\r"], "|"],
		["Ctrl-] as kitty sends it", ["\u001b[93;5u", "d"], "|"],
		["with all keys and their releases reported", ["\u001b[93;5u\u001b[93;5:3u\u001b[100u"], "\u001b[93;5:3u|"],
		["Ctrl-] as xterm sends it", ["\u001b[27;5;93~d"], "|"],
	])("%s", (_, pieces, expected) => expect(typed(...pieces)).toBe(expected));

	it.each([
		["not in the middle of a line", ["a~."], "a~."],
		["~~ is one ~", ["~~."], "~."],
		["two Ctrl-] are one", ["\u001d\u001d"], "\u001d"],
		["~ before anything else is itself", ["~/bin\r"], "~/bin\r"],
		["and does not start a line", ["~/~."], "~/~."],
		["Ctrl-] before anything else is itself", ["\u001dx"], "\u001dx"],
		["Ctrl-C is the program's", ["\u0003\u0003"], "\u0003\u0003"],
		["nothing that was pasted", ["\u001b[200~\r~.\u001dd\u001b[201~"], "\u001b[200~\r~.\u001dd\u001b[201~"],
		["bytes of any kind pass", ["\u0000\u00ff\u0080\u001b[A"], "\u0000\u00ff\u0080\u001b[A"],
	])("%s", (_, pieces, expected) => expect(typed(...pieces)).toBe(expected));
});

describe("the other keys that are ours", () => {
	it.each([
		["help", ["~?"], "<help>"],
		["after which the line still begins", ["~?", "~."], "<help>|"],
		["control, who is here, and a new picture", ["x\r~T", "~W", "~R"], "x\r<take><who><redraw>"],
		["the same after Ctrl-], anywhere", ["a\u001dt", "\u001dW", "\u001dr", "\u001d?"], "a<take><who><redraw><help>"],
		["to be suspended", ["x\r~\u001a", "a\u001d\u001a"], "x\r<suspend>a<suspend>"],
		["not the home of somebody", ["~tom\r"], "~tom\r"],
	])("%s", (_, pieces, expected) => expect(typed(...pieces)).toBe(expected));

	it.each([
		["%", ["~.\r%."], "~.\r|"],
		["%", ["\u001dd"], "\u001dd"],
		["^a", ["~.\u0001\u0001\u0001d"], "~.\u0001|"],
		["C-a", ["x\u001b[97;5ud"], "x|"],
		["none", ["~.\u001dd"], "~.\u001dd"],
	])("begin with what the user prefers: %s", (key, pieces, expected) => {
		expect(pressed(new EscapeKeys(parseEscape(key)), pieces)).toBe(expected);
	});

	it("are explained in columns, without those that a viewer has no use for", () => {
		const rows = escapeHelp(defaultEscape, { isViewer: false }).slice(1);
		const words = ["leave", "who", "take", "redraw", "suspend", "type"];
		expect(rows.map((row, index) => row.indexOf(` ${words[index]}`))).toEqual(
			words.map(() => rows[0]?.indexOf(" leave")),
		);
		const viewers = escapeHelp(defaultEscape, { isViewer: true }).join("\n");
		expect(viewers).toContain("who is here");
		expect(viewers).not.toMatch(/take control|redraw/);
	});

	it.each(["", "ab", "^1", "\u0001"])("and not with %j", (key) => {
		expect(() => parseEscape(key)).toThrow("expected a character such as ~");
	});
});
