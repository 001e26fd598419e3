import { describe, expect, it } from "vitest";
import { DetachKeys } from "../../src/cli/detach-keys.ts";

/** What is sent for pieces typed one after the other; `|` where the user leaves. */
function typed(...pieces: string[]): string {
	const keys = new DetachKeys();
	let sent = "";
	for (const piece of pieces) {
		const { bytes, isDetach } = keys.push(Buffer.from(piece, "latin1"));
		sent += bytes.toString("latin1");
		if (isDetach) return `${sent}|`;
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
