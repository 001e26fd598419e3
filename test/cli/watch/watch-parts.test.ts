/** The pure parts of `hawser watch`: keys, the line editor, the order of rows, and rendering. */

import { describe, expect, it } from "vitest";
import { cellsOf, cut, cutStart, fitted, wrapped } from "../../../src/cli/terminal/cell-width.ts";
import { type Key, KeyReader } from "../../../src/cli/terminal/key-reader.ts";
import { ApprovalReview } from "../../../src/cli/watch/approval-review.ts";
import { LineEditor } from "../../../src/cli/watch/line-editor.ts";
import { frameState, LIST } from "../../../src/cli/watch/modes.ts";
import { detectMethod, sequenceOf } from "../../../src/cli/watch/notifier.ts";
import { renderFrame, type Scene, visibleRows } from "../../../src/cli/watch/render.ts";
import { toRow } from "../../../src/cli/watch/rows.ts";
import { TableState } from "../../../src/cli/watch/table-state.ts";
import { keepOrder } from "../../../src/client/index.ts";
import { asking, held, listed, NOW } from "../../support/session-info.ts";

describe("keys", () => {
	const read = (...pieces: string[]) => {
		const keys: Key[] = [];
		const reader = new KeyReader((more) => void keys.push(...more));
		for (const piece of pieces) reader.push(Buffer.from(piece));
		reader.forget();
		return keys
			.map(({ kind, value }) => (kind === "text" ? value : `<${kind === "paste" ? "paste " : ""}${value}>`))
			.join("");
	};

	it.each([
		["text and arrow keys", ["aä", "\u001b[A\u001bOB", "\r\u007f\u0003"], "aä<Up><Down><Enter><Backspace><C-c>"],
		["a sequence split in two chunks", ["\u001b[", "A"], "<Up>"],
		["a paste as a unit", ["\u001b[200~x\r", "y\u001b[201~z"], "<paste x\ry>z"],
		["no unknown sequence", ["\u001b[99;5u\u001bxq"], "q"],
	])("the key reader reads %s", (_, pieces, expected) => expect(read(...pieces)).toBe(expected));

	it("the key reader reports a lone Escape after a moment", async () => {
		const pressed = new Promise<readonly Key[]>((resolve) => new KeyReader(resolve).push(Buffer.from("\u001b")));
		expect(await pressed).toEqual([{ kind: "key", value: "Escape" }]);
	});
});

it("the line editor edits at its cursor, and a paste does not press Enter", () => {
	const field = new LineEditor();
	const press = (...names: string[]) => {
		for (const value of names) field.press({ kind: "key", value });
	};
	field.press({ kind: "paste", value: "one two\r\nthree\r\n" });
	expect(field.text).toBe("one two three");
	press("C-w", "Home", "Delete", "Right");
	field.press({ kind: "text", value: "漢" });
	expect([field.before, field.text]).toEqual(["n漢", "n漢e two "]);
	press("End", "Backspace", "Left", "C-k");
	expect(field.text).toBe("n漢e tw");
	press("C-u");
	expect(field.text).toBe("");
});

it("text is cut by its width in cells, also when characters have no width", () => {
	expect([cut("漢字漢字", 5), fitted("漢", 4), cut("abc", 3)]).toEqual(["漢字…", "漢  ", "abc"]);
	expect(cut(`a${"\u0301".repeat(10_000)}`, 10).length).toBeLessThan(100);
	expect([cutStart("漢字漢字", 5), cutStart("abc", 3)]).toEqual(["…漢字", "abc"]);
	expect(wrapped("one two three", 6, 2)).toEqual(["one tw", "o thr…"]);
});

it("held rows keep their order: ended sessions disappear, new ones come last", () => {
	const [a, b, c, d] = ["a", "b", "c", "d"].map((id) => listed({ id }));
	expect(
		keepOrder(
			["c", "x", "a"],
			[a, b, c, d].flatMap((one) => one ?? []),
			({ id }) => id,
		).map(({ id }) => id),
	).toEqual(["c", "a", "b", "d"]);
});

it("while the server is unreachable the table shows for how long, as the web UI does", () => {
	const view = new TableState({ wanted: { workspace: undefined, labels: [] }, isNeeding: false, hidden: [] });
	const connection = { kind: "disconnected", since: NOW - 42_900, retryAt: NOW + 3_000 } as const;
	const live = { all: new Map(), held: [], connection };
	const { remarks } = frameState({ mode: LIST, view, live, notice: undefined, size: { cols: 80, rows: 24 }, now: NOW });
	expect(remarks).toEqual(["reconnecting (42s)"]);
});

describe("the picture", () => {
	const circumstances = { now: NOW, dismissed: new Set<string>(), held: [] };
	const scene = (changes: Partial<Scene> = {}): Scene => ({
		size: { cols: 80, rows: 24 },
		now: NOW,
		rows: [toRow({ ...asking("Push? [y/N] ", { choices: ["y", "N"] }), name: "build" }, circumstances)],
		selected: 0,
		top: 0,
		counts: { needing: 1, running: 0, ended: 0 },
		remarks: [],
		emptyText: "",
		statusLine: { kind: "keys" },
		page: undefined,
		hasColours: false,
		...changes,
	});
	const plain = (line: string) => line.replace(/\u001b\[[0-9;]*m/g, "");

	it.each([
		[80, 24],
		[40, 10],
		[20, 5],
		[1, 1],
		[300, 80],
	])("a frame for %i by %i cells fills every row and is nowhere wider", (cols, rows) => {
		const sessions = Array.from({ length: 500 }, (_, index) => ({
			...asking(`Go on with 漢字 ${"x".repeat(400)}?`),
			name: `session-${index}`,
		}));
		const many = sessions.map((session) => toRow(session, circumstances));
		const size = { cols, rows };
		for (const statusLine of [
			{ kind: "keys" },
			{ kind: "field", label: "answer:", text: "y".repeat(200), before: "y".repeat(150) },
		] as const) {
			const { lines, cursor } = renderFrame(
				scene({ size, rows: many, selected: 499, top: 500 - visibleRows(size), statusLine }),
			);
			expect(lines).toHaveLength(rows);
			expect(Math.max(...lines.map((line) => cellsOf(plain(line))))).toBeLessThanOrEqual(Math.max(cols, 12));
			expect(cursor?.col ?? 1).toBeLessThanOrEqual(Math.max(cols, 12));
		}
	});

	it("a long question shows its end, and a narrow terminal short states", () => {
		const question = `${"The key of this host is not known. ".repeat(8)}Go on (yes/no)?`;
		const rows = [
			toRow(asking(question), circumstances),
			toRow(asking("Password:", { kind: "secret" }), circumstances),
		];
		const lines = renderFrame(scene({ rows, size: { cols: 40, rows: 14 } })).lines.map(plain);
		expect(lines[2]).toMatch(/^> vite {2}asks +4m {2}….*\(yes\/no\)\? *$/);
		expect(lines[3]).toMatch(/^ {2}vite {2}secret +4m {2}Password:$/);
		expect(lines.at(-2)).toMatch(/Go on \(yes\/no\)\?$/);
	});

	it("the detail rows show the selected session and its whole question", () => {
		const lines = renderFrame(scene()).lines.map(plain);
		expect(lines[0]?.trim()).toBe("1 needs you · 0 running · 0 ended");
		expect(lines[2]?.trim()).toBe("> build  asks     4m  Push? [y/N]");
		expect(lines.slice(-4, -1)).toEqual(["build · vite --host · /src/billing · default · aaaa", "Push? [y/N]", ""]);
	});
});

it("an approval needs its last page shown, again after a resize; a denial does not", () => {
	const lines = Array.from({ length: 20 }, (_, line) => `rm -rf /${line} \u202e`);
	const pressed = (deciding: ApprovalReview, value: string) => deciding.press({ kind: "key", value }, false);
	const granting = new ApprovalReview(held({ preview: lines.join("\n") }), "grant");
	const room = { cols: 40, rows: 12 };
	expect(granting.page(room).slice(0, 4)).toEqual([
		"agent wants to type in vite",
		"token:1f:agent · default · aaaa",
		"",
		"rm -rf /0 \\u202e",
	]);
	expect(pressed(granting, "Enter")).toBeUndefined();
	pressed(granting, "Down");
	expect(granting.page(room).at(-1)).toContain("/19");
	granting.page({ cols: 30, rows: 12 });
	expect(pressed(granting, "Enter")).toBeUndefined();
	pressed(granting, "PageDown");
	granting.page({ cols: 30, rows: 12 });
	expect(pressed(granting, "Enter")).toBe("decided");
	expect(granting.press({ kind: "text", value: "n" }, false)).toBe("left");
	const denying = new ApprovalReview(held({ preview: lines.join("\n") }), "deny");
	denying.press({ kind: "text", value: "n" }, false);
	expect([pressed(denying, "Enter"), denying.decision]).toEqual(["decided", { decision: "deny", note: "n" }]);
});

it("an approval needs a second Enter if the session wrote output since the request", () => {
	const granting = new ApprovalReview(held({ preview: "rm -rf /" }), "grant");
	const enter = () => granting.press({ kind: "key", value: "Enter" }, true);
	granting.page({ cols: 40, rows: 12 });
	expect([enter(), granting.statusLine(0, false)]).toEqual([
		undefined,
		expect.objectContaining({ text: expect.stringMatching(/^The session wrote output .* Approve anyway\?/) }),
	]);
	expect([enter(), granting.decision]).toEqual(["decided", { decision: "grant", evenIfChanged: true }]);
});

it.each([
	[{ TERM: "xterm-256color", TERM_PROGRAM: "iTerm.app" }, "osc9"],
	[{ TERM: "xterm-kitty" }, "osc9"],
	[{ TERM: "xterm-256color", VTE_VERSION: "7600" }, "osc777"],
	[{ TERM: "foot" }, "osc777"],
	[{ TERM: "tmux-256color", TMUX: "/tmp/tmux", VTE_VERSION: "7600" }, "bell"],
	[{ TERM: "xterm-256color" }, "bell"],
] as const)("with the environment %j the notification method is %s", (env, way) => {
	expect(detectMethod(env)).toBe(way);
	expect(sequenceOf(way, "4;1;x")).not.toMatch(/4;1/);
});
