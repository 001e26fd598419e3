/** Notifications in the output of a terminal, and reports of hooks. */

import { expect, test } from "vitest";
import { Scan } from "../../../src/core/terminal/terminal-scan.ts";
import { SignalCollector } from "../../../src/core/terminal/terminal-signals.ts";

const ESC = "\u001b";
const base64 = (text: string) => Buffer.from(text).toString("base64");

function notificationsIn(output: string): { readonly text: string | undefined; readonly count: number } {
	const signals = new SignalCollector({ now: () => 1_000, foreground: () => 7 });
	const scan = new Scan(undefined, {
		onString: (text, place, terminator) => signals.noteString(text, place, terminator),
	});
	scan.feed(Buffer.from(output));
	const { notification, count } = signals.read(scan.offset);
	return { text: notification?.text, count };
}

test.each([
	["OSC 9", `${ESC}]9;Approval requested: touch file\u0007`, "Approval requested: touch file"],
	["OSC 777", `${ESC}]777;notify;Gemini CLI;Action required\u0007`, "Gemini CLI: Action required"],
	["OSC 99", `${ESC}]99;;Hello\u0007`, "Hello"],
	["OSC 99 in base64", `${ESC}]99;i=a:e=1;${base64("Frage … ?")}${ESC}\\`, "Frage … ?"],
	[
		"OSC 99 in parts",
		`${ESC}]99;i=a:p=title:e=1:d=0;${base64("Fix the build")}${ESC}\\${ESC}]99;i=a:p=body:e=1:d=1;${base64("Session done")}${ESC}\\`,
		"Fix the build: Session done",
	],
	[
		"OSC 99 whose last part is empty",
		`${ESC}]99;i=a:d=0;Claude Code\u0007${ESC}]99;i=a:d=0:p=body;Hello\u0007${ESC}]99;i=a:d=1:a=focus;\u0007`,
		"Claude Code: Hello",
	],
])("the text of a notification by %s is known", (_name, output, text) => {
	expect(notificationsIn(output)).toEqual({ text, count: 1 });
});

test.each([
	["ConEmu's progress", `${ESC}]9;4;1;50\u0007`],
	["a query", `${ESC}]99;i=opentui-notifications:p=?;\u0007`],
	["an icon", `${ESC}]99;i=a:p=icon;Hello\u0007`],
	["an incomplete one", `${ESC}]99;i=a:d=0;Hello\u0007`],
	["the end of another one", `${ESC}]99;i=a:d=0;Hello\u0007${ESC}]99;i=b:d=1;\u0007`],
	["another extension of urxvt", `${ESC}]777;precmd;x\u0007`],
])("%s is no notification", (_name, output) => {
	expect(notificationsIn(output)).toEqual({ text: undefined, count: 0 });
});

test("the parts of a notification have a limit", () => {
	const parts = `${ESC}]99;i=a:d=0;${"x".repeat(400)}\u0007`.repeat(50);
	expect(notificationsIn(`${parts}${ESC}]99;i=a;\u0007`).text?.length).toBe(512);
});

const AGENT_GROUP = 7;
const blocked = { app: "codex", state: "blocked", kind: "permission", message: "Run ls?" } as const;

function hookCollector(foreground = AGENT_GROUP) {
	const front = { group: foreground, now: 1_000 };
	const signals = new SignalCollector({ now: () => front.now, foreground: () => front.group });
	return { front, signals };
}

test("a report of a hook counts only from the process group in front", () => {
	const { signals } = hookCollector();
	expect(signals.noteHook(blocked, 8, 100)).toBe(false);
	expect(signals.read(100)).toMatchObject({ hook: null, count: 0 });
	expect(signals.noteHook(blocked, AGENT_GROUP, 100)).toBe(true);
	const hook = { ...blocked, id: "", offset: 100, at: 1_000, latest: 100, foreground: AGENT_GROUP };
	expect(signals.read(120)).toMatchObject({ hook, count: 1 });
});

test("a report that repeats a state goes on with it, and another question or agent begins one", () => {
	const { front, signals } = hookCollector();
	signals.noteHook(blocked, AGENT_GROUP, 100);
	front.now = 2_000;
	signals.noteHook(blocked, AGENT_GROUP, 200);
	expect(signals.read(200).hook).toMatchObject({ offset: 100, at: 1_000, latest: 200 });
	signals.noteHook({ ...blocked, message: "Run rm?" }, AGENT_GROUP, 300);
	expect(signals.read(300).hook).toMatchObject({ offset: 300, at: 2_000 });
	signals.noteHook({ ...blocked, message: "Run rm?", app: "gemini" }, AGENT_GROUP, 400);
	expect(signals.read(400).hook).toMatchObject({ offset: 400, app: "gemini" });
});

test("a shell's prompt and the end of the program end a report, but not a result", () => {
	for (const end of [
		(one: SignalCollector) => one.noteMark({ code: 133, text: "A", offset: 100, end: 108 }),
		(one: SignalCollector) => one.noteEnd(),
	]) {
		const { signals } = hookCollector();
		signals.noteHook(blocked, AGENT_GROUP, 100);
		end(signals);
		expect(signals.read(200).hook).toBeNull();
		signals.noteHook({ ...blocked, state: "done", kind: null, message: null }, AGENT_GROUP, 300);
		end(signals);
		expect(signals.read(400).hook).toMatchObject({ state: "done" });
		signals.noteHook({ ...blocked, state: "clear", kind: null, message: null }, AGENT_GROUP, 500);
		expect(signals.read(600).hook).toBeNull();
	}
});
