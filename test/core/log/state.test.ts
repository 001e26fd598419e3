import { describe, expect, test } from "vitest";
import type { Event, Fact } from "../../../src/core/log/event.ts";
import { advance, initialState, isEnded, type State } from "../../../src/core/log/session-state.ts";

const size = { cols: 80, rows: 24 };

function fold(...facts: Fact[]) {
	return facts.reduce<State>(
		(state, fact, index) => advance(state, { ...fact, seq: index + 1, offset: 0, time: 100 + index } as Event),
		initialState(size),
	);
}

const exited: Fact = { kind: "exited", exit: { code: 0, signal: null } };

describe("a session's state", () => {
	test("a session's state is a fold of its log", () => {
		expect(fold()).toEqual({ status: "running", size, exit: null, endedAt: null });
		expect(fold({ kind: "resized", size: { cols: 1, rows: 2 } }, exited, { kind: "closed" })).toEqual({
			status: "closed",
			size: { cols: 1, rows: 2 },
			exit: { code: 0, signal: null },
			endedAt: 101,
		});
		expect(fold({ kind: "lost", message: "gone" })).toMatchObject({ status: "lost", exit: null, endedAt: 100 });
		expect(isEnded(fold(exited))).toBe(false);
		expect(isEnded(fold(exited, { kind: "closed" }))).toBe(true);
	});

	test("a session's state only moves forward", () => {
		expect(() => fold({ kind: "closed" })).toThrow("closed before exited");
		expect(() => fold(exited, exited)).toThrow("exited twice");
		expect(() => fold(exited, { kind: "closed" }, { kind: "lost", message: "" })).toThrow("after closed");
	});
});
