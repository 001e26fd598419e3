import { expect, it } from "vitest";
import { isPrintable, showUnseen } from "../../src/words/printable.ts";

it.each(["", "web", "build 2", "été", "漢字", "שלום", "👋", "⚠️ prod", "👩‍💻", "👩🏽‍🚀", "🏳️‍🌈"])(
	"%j is fit for a name, and shown as it is",
	(name) => {
		expect([isPrintable(name), showUnseen(name)]).toEqual([true, name]);
	},
);

it.each([
	["prod\u200b", "prod\\u{200b}"],
	["prod\u061c", "prod\\u{61c}"],
	["pr\u00adod", "pr\\u{ad}od"],
	["prod\u200e\u200f", "prod\\u{200e}\\u{200f}"],
	["prod\u{e0041}", "prod\\u{e0041}"],
	["prod\ufe0f", "prod\\u{fe0f}"],
	["pr\u200dod", "pr\\u{200d}od"],
	["👩‍", "👩\\u{200d}"],
	["⚠\ufe0f\ufe0f", "⚠\ufe0f\\u{fe0f}"],
	["\u3164", "\\u{3164}"],
	["\u202egnp.exe", "\\u{202e}gnp.exe"],
])("%j is not, and shows what is not seen in it", (name, shown) => {
	expect([isPrintable(name), showUnseen(name)]).toEqual([false, shown]);
});
