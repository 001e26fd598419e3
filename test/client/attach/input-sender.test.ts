/** Input that a server has no space for, refuses, or does not acknowledge. */

import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { InputSender } from "../../../src/client/attach/input-sender.ts";
import { Outbox } from "../../../src/client/attach/outbox.ts";
import { HawserError } from "../../../src/client/errors.ts";

let outbox: Outbox;
let flow: InputSender;
let sent: { position: number; text: string }[];
let over: string[];
beforeEach(() => {
	vi.useFakeTimers();
	outbox = new Outbox();
	over = [];
	sent = [];
	flow = new InputSender(outbox, ({ code }) => over.push(code));
	open(0);
});
afterEach(() => {
	flow.close();
	vi.useRealTimers();
});

function open(next: number): void {
	flow.open({ next, written: next, window: 100 }, (message) => {
		if (!("kind" in message) || message.kind !== "input") throw new Error("not sent here");
		sent.push({ position: message.position, text: new TextDecoder().decode(message.bytes) });
	});
}

function write(text: string): Promise<string> {
	return new Promise((resolve) => {
		outbox.add(new TextEncoder().encode(text), (error) =>
			resolve(error instanceof HawserError ? error.code : "written"),
		);
		flow.pump();
	});
}

const refuse = (code: HawserError["code"], position: number) => flow.refused(new HawserError(code, "no"), position);

it("a refusal is reported once for all input it affects, and later input takes the position", async () => {
	const results = [write("a"), write("b"), write("c")];
	flow.receipt({ next: 1, written: 1 });
	refuse("not_writable", 1);
	const after = write("d");
	// The refusal of "c", which was in flight, is not that of "d".
	expect(sent.map(({ text }) => text)).toEqual(["a", "b", "c"]);
	refuse("not_writable", 1);
	expect(sent.at(-1)).toEqual({ position: 1, text: "d" });
	flow.receipt({ next: 2, written: 2 });
	expect(await Promise.all([...results, after])).toEqual(["written", "not_writable", "not_writable", "written"]);
});

it("input that the server had no space for is sent again once, after a delay", async () => {
	const results = [write("aaaa"), write("bb")];
	flow.receipt({ next: 2, written: 2 });
	refuse("invalid_argument", 2);
	refuse("invalid_argument", 2);
	expect(sent).toHaveLength(2);
	await vi.advanceTimersByTimeAsync(100);
	expect(sent.slice(2)).toEqual([
		{ position: 2, text: "aa" },
		{ position: 4, text: "bb" },
	]);
	flow.receipt({ next: 6, written: 6 });
	expect(await Promise.all(results)).toEqual(["written", "written"]);
});

it("input without a receipt is sent again", async () => {
	const result = write("abc");
	flow.receipt({ next: 1, written: 1 });
	await vi.advanceTimersByTimeAsync(6_000);
	expect(sent).toEqual([
		{ position: 0, text: "abc" },
		{ position: 1, text: "bc" },
	]);
	flow.receipt({ next: 3, written: 3 });
	await vi.advanceTimersByTimeAsync(60_000);
	expect(sent).toHaveLength(2);
	expect(await result).toBe("written");
});

it("nothing is sent between connections, and the end of the program is reported", () => {
	flow.close();
	void write("abc");
	expect(sent).toEqual([]);
	open(0);
	expect(sent).toEqual([{ position: 0, text: "abc" }]);
	refuse("session_closed", 0);
	expect(over).toEqual(["session_closed"]);
});
