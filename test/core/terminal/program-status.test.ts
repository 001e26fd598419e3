import { expect, test } from "vitest";
import { appOf, MAX_RECORDS, reportOf, type StatusRecord } from "../../../src/core/terminal/program-status.ts";
import { Scan } from "../../../src/core/terminal/terminal-scan.ts";
import { SignalCollector } from "../../../src/core/terminal/terminal-signals.ts";

const BEL = "\u0007";
const ST = "\u001b\\";

/** The records of a terminal after this output. */
function recordsAfter(...pieces: (string | Uint8Array)[]): readonly StatusRecord[] {
	const signals = new SignalCollector({ now: () => 1_000, foreground: () => 7 });
	const scan = new Scan(undefined, {
		onString: (text, place, terminator) => signals.noteString(text, place, terminator),
		onMark: (mark) => signals.noteMark(mark),
		onReset: () => signals.noteReset(),
	});
	for (const piece of pieces) scan.feed(typeof piece === "string" ? Buffer.from(piece) : piece);
	return signals.records;
}

function report(body: string, terminator = ST): string {
	return `\u001b]7501;${body}${terminator}`;
}

function afterReports(...bodies: string[]): readonly StatusRecord[] {
	return recordsAfter(...bodies.map((body) => report(body)));
}

function only(body: string): StatusRecord | undefined {
	const records = afterReports(body);
	expect(records.length).toBeLessThan(2);
	return records[0];
}

const idsOf = (records: readonly StatusRecord[]) => records.map(({ id }) => id);
const base64 = (text: string | Uint8Array) => Buffer.from(text).toString("base64");

test("a report with every key makes a record", () => {
	const body = `state=blocked:kind=permission:progress=42:id=tf/plan:app=terraform:title=${base64("Plan")}:msg=${base64("Apply 3?")}`;
	expect(recordsAfter("text", report(body))).toEqual([
		{
			id: "tf/plan",
			state: "blocked",
			kind: "permission",
			progress: 42,
			app: "terraform",
			title: "Plan",
			message: "Apply 3?",
			offset: 4,
			at: 1_000,
			foreground: 7,
		},
	]);
});

test("a report with a state alone makes a root record without anything else", () => {
	expect(only("state=idle")).toMatchObject({
		id: "",
		state: "idle",
		kind: null,
		progress: null,
		app: null,
		title: null,
		message: null,
	});
});

test.each(["idle", "working", "done", "blocked", "error"])("the state %s is known", (state) => {
	expect(only(`state=${state}`)?.state).toBe(state);
});

test.each([
	["a missing state", ""],
	["only an app", "app=cargo"],
	["an unknown state", "state=sleeping"],
	["an empty state", "state="],
	["a state in capitals", "state=IDLE"],
	["an unknown state after a known one", "state=idle:state=sleeping"],
	["a key of 17 bytes", `state=idle:${"a".repeat(17)}=1`],
	["an app of 33 bytes", `state=idle:app=${"a".repeat(33)}`],
	["an app of 33 bytes that a later one replaces", `state=idle:app=${"a".repeat(33)}:app=ok`],
	["a title of 257 encoded bytes", `state=idle:title=${"QUFB".repeat(64)}A`],
	["a title of more than 192 decoded bytes", `state=idle:title=${"QUFB".repeat(64)}QUFB`],
	["a long title that a later one replaces", `state=idle:title=${"QUFB".repeat(65)}:title=QQ`],
	["a message of 2049 decoded bytes", `state=idle:msg=${"QUFB".repeat(683)}`],
	["a message of 2733 encoded bytes", `state=idle:msg=${"QUFB".repeat(683)}A`],
	["a long message that a later one replaces", `state=idle:msg=${"QUFB".repeat(684)}:msg=QQ`],
	["a long id that a later one replaces", `state=idle:id=${"a".repeat(33)}:id=a`],
	["a title of 193 decoded bytes without padding", `state=idle:title=${"QUFB".repeat(64)}QQ`],
	["a message that is not base64", "state=done:msg=a"],
	["a message with wrong padding", "state=done:msg=QQ="],
	["a message with padding in its middle", "state=done:msg=QQ==QQ=="],
	["a message in the alphabet of URLs", "state=done:msg=YWI_"],
	["a title that is not base64", "state=done:title=a"],
	["a message with a newline", `state=done:msg=${base64("a\nb")}`],
	["a message with DEL", `state=done:msg=${base64("a\u007fb")}`],
	["a message with a C1", `state=done:msg=${base64("\u009b")}`],
	["a message that is not UTF-8", "state=done:msg=/w=="],
])("a report is ignored with %s", (_name, body) => {
	expect(afterReports("state=working:app=before", body)).toMatchObject([{ state: "working", app: "before" }]);
});

test.each([
	["a key of 16 bytes", `state=idle:${"a".repeat(16)}=1`, {}],
	["an app of 32 bytes", `state=idle:app=${"a".repeat(32)}`, { app: "a".repeat(32) }],
	["a title at its limits", `state=idle:title=${"QUFB".repeat(64)}`, { title: "A".repeat(192) }],
	["a message at its limits", `state=idle:msg=${"QUFB".repeat(682)}QUE=`, { message: "A".repeat(2048) }],
	["padding left out", "state=done:msg=UGxhbg", { message: "Plan" }],
	["padding", "state=done:msg=UGxhbg==", { message: "Plan" }],
	["text in UTF-8", "state=done:msg=5a6J5YWo", { message: "安全" }],
	["empty text", "state=done:msg=:title=", { message: null, title: null }],
	["spaces around keys and values", " state = working : app = cargo ", { state: "working", app: "cargo" }],
	["a pair twice", "state=idle:app=a:state=done:app=b", { state: "done", app: "b" }],
	["malformed pairs", "garbage:=x:Bad=1:app=b@d:future=yes:state=working:app=ok:::", { app: "ok" }],
	["empty pairs around it", "a:state=idle:::", { state: "idle" }],
	["a bad app", "state=idle:app=a/b", { app: null }],
	["an empty app", "state=idle:app=", { app: null }],
	["an app of 33 bytes that no value may have, a malformed pair", `state=idle:app=${"@".repeat(33)}`, { app: null }],
	["a masked message, which is a malformed pair", "state=done:msg=QUFB****QUFB:app=x", { message: null, app: "x" }],
	["a bad message before a good one", "state=done:msg=a:msg=UGxhbg", { message: "Plan" }],
	["a kind of a working program", "state=working:kind=auth", { kind: null }],
	["an unknown kind", "state=blocked:kind=dance", { kind: null }],
	["the kind auth", "state=blocked:kind=auth", { kind: "auth" }],
	["the kind question", "state=blocked:kind=question", { kind: "question" }],
])("a report counts with %s", (_name, body, expected) => {
	expect(only(body)).toMatchObject(expected);
});

test.each([
	["0", 0],
	["100", 100],
	["007", 7],
	["101", null],
	["99999999999999999999", null],
	["-1", null],
	["+1", null],
	["4.5", null],
	["1_0", null],
	["", null],
])("progress %s is %s", (value, progress) => {
	expect(only(`state=working:progress=${value}`)).toMatchObject({ progress });
	expect(only(`state=blocked:progress=${value}`)).toMatchObject({ progress });
	expect(only(`state=done:progress=${value}`)).toMatchObject({ progress: null });
});

test.each([
	"a",
	"build/test",
	"A-Z_0.9+",
	"a".repeat(32),
	"a/b/c/d/e/f/g/h",
	`${`${"a".repeat(31)}/`.repeat(3)}${"a".repeat(32)}`,
])("an id may be %s", (id) => {
	expect(only(`state=working:id=${id}`)?.id).toBe(id);
});

test.each([
	"",
	"/",
	"a/",
	"/a",
	"a//b",
	"a,b",
	"a=b",
	"bad!",
	"a".repeat(33),
	"a/b/c/d/e/f/g/h/i",
	`${`${"a".repeat(31)}/`.repeat(4)}a`,
])("a report with the id %j is ignored and clears nothing", (id) => {
	const before = ["state=working", "state=working:id=a"];
	expect(idsOf(afterReports(...before, `state=clear:id=${id}`))).toEqual(["", "a"]);
	expect(afterReports(...before, `state=error:id=${id}`)).toMatchObject([{ state: "working" }, { state: "working" }]);
	// Also if a later one is good.
	expect(idsOf(afterReports(...before, `state=clear:id=${id}:id=a`))).toEqual(["", "a"]);
});

test("a report replaces all of its record, and no other", () => {
	const records = afterReports(
		"state=working:id=build:app=cargo:progress=20",
		"state=blocked:id=other:kind=auth",
		"state=working:id=build:progress=30",
	);
	expect(records).toMatchObject([
		{ id: "other", kind: "auth" },
		{ id: "build", progress: 30, app: null },
	]);
});

test("a record keeps the offset at which its state began, and a new question begins a new state", () => {
	const offsets = (...bodies: string[]) => afterReports(...bodies).map(({ offset }) => offset);
	expect(offsets("state=working:progress=1", "state=working:progress=2")).toEqual([0]);
	expect(offsets("state=working", "state=done")).toEqual([report("state=working").length]);
	const first = "state=blocked:msg=QQ";
	expect(offsets(first, `${first}:progress=9`)).toEqual([0]);
	expect(offsets(first, "state=blocked:msg=QUE")).toEqual([report(first).length]);
	expect(offsets(first, `${first}:kind=auth`)).toEqual([report(first).length]);
});

test("a record takes its app from the nearest record above it that has one", () => {
	const records = afterReports(
		"state=idle:app=shell",
		"state=working:id=build:app=cargo",
		"state=working:id=build/test/unit",
		"state=working:id=other/x",
	);
	expect(appOf(records, "build/test/unit")).toBe("cargo");
	expect(appOf(records, "build")).toBe("cargo");
	expect(appOf(records, "other/x")).toBe("shell");
	expect(appOf(records, "")).toBe("shell");
	expect(appOf(afterReports("state=idle", "state=idle:id=a"), "a")).toBeNull();
});

test("clear takes a record and those beneath it", () => {
	const ids = ["build", "build/test", "build/test/unit", "builder", "other/build", "buil"];
	const made = ids.map((id) => `state=working:id=${id}`);
	expect(idsOf(afterReports(...made, "state=clear:id=build"))).toEqual(["builder", "other/build", "buil"]);
	expect(idsOf(afterReports(...made, "state=clear:id=other"))).toEqual(ids.filter((id) => id !== "other/build"));
	expect(idsOf(afterReports("state=working", ...made, "state=clear:id=buil"))).toEqual(["", ...ids.slice(0, 5)]);
	expect(idsOf(afterReports("state=done", ...made, "state=clear"))).toEqual([]);
});

test("one record more than the limit drops the least recently updated one", () => {
	const made = Array.from({ length: MAX_RECORDS }, (_, index) => `state=working:id=r${index}`);
	const ids = idsOf(afterReports(...made, "state=working:id=r0", "state=working:id=new"));
	expect(ids).toHaveLength(MAX_RECORDS);
	expect([ids[0], ids.at(-2), ids.at(-1)]).toEqual(["r2", "r0", "new"]);
	expect(idsOf(afterReports(...made))[0]).toBe("r0");
});

test.each([
	["ST", ST, "state=idle:".length],
	["BEL", BEL, "state=idle:".length],
])("a sequence that ends with %s has 4096 bytes at most", (_name, terminator, used) => {
	const fill = 4096 - "\u001b]7501;".length - used - terminator.length;
	expect(recordsAfter(report(`state=idle:${"x".repeat(fill)}`, terminator))).toHaveLength(1);
	expect(recordsAfter(report(`state=idle:${"x".repeat(fill + 1)}`, terminator))).toHaveLength(0);
	// The terminal recovers from one that is too long.
	const after = [report(`state=idle:${"x".repeat(5_000)}`, terminator), report("state=error", terminator)];
	expect(recordsAfter(...after)).toMatchObject([{ state: "error" }]);
});

test.each(["75", "750", "75010", "07501x", "7502"])("OSC %s is another sequence", (code) => {
	expect(recordsAfter(`\u001b]${code};state=idle${ST}`)).toEqual([]);
});

test("OSC 7501 without a body is no report", () => {
	expect(recordsAfter(`\u001b]7501${ST}`)).toEqual([]);
	expect(recordsAfter(report(""))).toEqual([]);
});

test("a report counts however its bytes are split", () => {
	const output = Buffer.from(
		`a${report("state=working:app=x", BEL)}${report("state=blocked:id=é", ST)}${report("state=done:id=b")}`,
	);
	const whole = recordsAfter(output);
	expect(idsOf(whole)).toEqual(["", "b"]);
	for (let at = 0; at <= output.byteLength; at++) {
		expect(recordsAfter(output.subarray(0, at), output.subarray(at))).toEqual(whole);
	}
	expect(recordsAfter(...Array.from(output, (byte) => Uint8Array.of(byte)))).toEqual(whole);
});

test("a report needs its terminator: another sequence, CAN and SUB end it without effect", () => {
	expect(recordsAfter("\u001b]7501;state=idle", "\u001b[m")).toEqual([]);
	expect(recordsAfter("\u001b]7501;state=idle\u001b", "x")).toEqual([]);
	expect(recordsAfter("\u001b]7501;state=idle\u0018", BEL)).toEqual([]);
	expect(recordsAfter("\u001b]7501;state=idle\u001a", BEL)).toEqual([]);
	expect(recordsAfter("\u001b]7501;state=idle\u001b", "\\")).toHaveLength(1);
});

test("a raw 0x9c is a malformed value and no terminator, and control characters inside are skipped", () => {
	expect(recordsAfter(Buffer.from("\u001b]7501;state=idle:app=a\u009cb\u0007", "latin1"))).toMatchObject([
		{ app: null },
	]);
	expect(recordsAfter("\u001b]7501;sta\u0001te=idle\u0007")).toMatchObject([{ state: "idle" }]);
});

test("a prompt drops what programs do and keeps what they have done", () => {
	const made = ["working", "blocked", "idle", "done", "error"].map((state) => report(`state=${state}:id=${state}`));
	expect(idsOf(recordsAfter(...made, `\u001b]133;A${ST}`))).toEqual(["done", "error"]);
	expect(idsOf(recordsAfter(...made, `\u001b]133;A;aid=1${BEL}`))).toEqual(["done", "error"]);
	// A prompt that is drawn again is a prompt: a program that runs draws none.
	const redrawn = [`\u001b]133;A${ST}`, report("state=working"), `\u001b]133;A;redraw=1${ST}`];
	expect(idsOf(recordsAfter(...made, ...redrawn))).toEqual(["done", "error"]);
	for (const mark of ["133;B", "133;C", "133;D;0", "133;N", "133;P;k=i", "133;AB"]) {
		expect(recordsAfter(...made, `\u001b]${mark}${ST}`), mark).toHaveLength(5);
	}
});

test("a full reset drops all records; a soft one and the alternate screen drop none", () => {
	const made = [report("state=working"), report("state=done:id=a")];
	expect(recordsAfter(...made, "\u001bc")).toEqual([]);
	expect(recordsAfter(...made, "\u001b[!p", "\u001b[?1049h", "\u001b[?1049l", "\u001b[2J")).toHaveLength(2);
});

test("a record is written as a report that makes the same record", () => {
	const body = `state=blocked:kind=question:progress=5:id=a/b:app=x:title=${base64("ü")}:msg=${base64("Which?")}`;
	const [record] = afterReports(body);
	const [again] = recordsAfter(record ? reportOf(record) : "");
	expect(again).toEqual({ ...record, offset: 0 });
	expect(reportOf({ ...(record as StatusRecord), id: "" })).not.toContain("id=");
});
