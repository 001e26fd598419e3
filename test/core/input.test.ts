import { describe, expect, it } from "vitest";
import { SessionError } from "../../src/core/errors.ts";
import { InputQueue } from "../../src/core/input.ts";
import type { Act } from "../../src/core/session.ts";

describe("an input queue", () => {
	it("goes on after a signal that may not be sent, and ends when the process takes no more", async () => {
		const done: Act[] = [];
		const failures: unknown[] = [];
		const queue = new InputQueue(
			(act) => {
				if (act.kind === "signal") throw new SessionError("permission_denied", "another user's");
				if (act.kind === "eof") throw new SessionError("session_closed", "gone");
				done.push(act);
			},
			(error) => failures.push(error),
		);
		const write: Act = { kind: "write", bytes: new Uint8Array([1, 2]) };
		queue.accept({ kind: "signal", signal: "SIGINT" }, { stream: "s", position: 0 });
		expect(queue.accept(write, { stream: "s", position: 1 })).toEqual({ next: 3, written: 3 });
		expect(done).toEqual([write]);
		queue.accept({ kind: "eof" }, { stream: "s", position: 3 });
		expect(() => queue.accept(write, { stream: "s", position: 4 })).toThrow("no more input");
		expect(await queue.receipt("s", 3)).toEqual({ next: 4, written: 3 });
		expect(failures).toEqual([]);
	});
});
