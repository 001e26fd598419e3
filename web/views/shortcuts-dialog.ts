/** The list of shortcuts, by page. */

import { html, type TemplateResult } from "lit-html";
import type { App } from "../state/app.ts";
import { modal } from "./modal.ts";

const isMac = /Mac|iPhone|iPad/.test(navigator.userAgent);
const ctrl = isMac ? "⌘" : "Ctrl";
const ours = isMac ? "⌘" : "Ctrl ⇧";

const places: readonly { readonly name: string; readonly keys: readonly (readonly [what: string, key: string])[] }[] = [
	{
		name: "Everywhere",
		keys: [
			["Go to a session or command", `${ctrl} K`],
			["Then search all output", `${ctrl} Enter`],
			["Next that needs you", "J"],
			["Shortcuts", "?"],
		],
	},
	{
		name: "List",
		keys: [
			["Move", "↑ ↓"],
			["Open", "Enter"],
			["Answer", "A"],
			["Filter", "/"],
			["Start", "N"],
			["Rename", "R"],
			["Kill…", "Del"],
		],
	},
	{
		name: "Terminal",
		keys: [
			["Go to a session or command", `${ours} K`],
			["Next that needs you", `${ours} A`],
			["Search all output", `${ours} F`],
			["Copy · paste", `${ours} C · V`],
			["Previous · next command", `${ours} ↑ · ↓`],
			["Leave the terminal", `${ours} L`],
		],
	},
	{
		name: "Grid",
		keys: [
			["Move", "↑ ↓ ← →"],
			["Type in the tile", "Enter"],
			["Open the session", `${ctrl} Enter`],
		],
	},
	{
		name: "Playback",
		keys: [
			["Play, pause", "Space"],
			["Back · forward 5 s", "← →"],
			["Previous · next command", "[ ]"],
			["Slower · faster", "< >"],
			["Jump to 0–90 %", "0 … 9"],
			["Live", "End"],
		],
	},
];

export function keysDialog(app: App): TemplateResult {
	return modal({
		title: "Shortcuts",
		look: "wide",
		close: () => app.dialogs.close(),
		body: html`<div class="keys">
			${places.map(
				({ name, keys }) =>
					html`<section>
						<h3>${name}</h3>
						<dl>${keys.map(([what, key]) => html`<div><dt>${what}</dt><dd><kbd>${key}</kbd></dd></div>`)}</dl>
					</section>`,
			)}
		</div>`,
	});
}
