import { describe, expect, it } from "vitest";
import { covers, grants, parseScope } from "../../../src/core/policy/scope.ts";
import type { Right } from "../../../src/words/rights.ts";

const rights: readonly Right[] = ["read", "operate", "manage"];
const granted = (scope: string, place: { workspace: string; session?: string }) =>
	rights.filter((right) => grants(parseScope(scope), right, place));

describe("a scope", () => {
	it.each([
		["admin", ["read", "operate", "manage"]],
		["workspace:red:manage", ["read", "operate", "manage"]],
		["workspace:red:operate", ["read", "operate"]],
		["workspace:red:read", ["read"]],
		["session:s1:control", ["read", "operate"]],
		["session:s1:view", ["read"]],
		["workspace:blue:manage", []],
		["session:s2:control", []],
	])("the scope %s gives %j on a session of the workspace red", (scope, expected) => {
		expect(granted(scope, { workspace: "red", session: "s1" })).toEqual(expected);
	});

	it("a scope of a session gives nothing on its workspace", () => {
		expect(granted("session:s1:control", { workspace: "red" })).toEqual([]);
	});

	it("a scope is compared whole: a prefix or another case is another id", () => {
		for (const workspace of ["re", "redder", "RED", "red.", ""]) {
			expect(granted("workspace:red:manage", { workspace })).toEqual([]);
		}
	});

	it.each([
		"",
		"Admin",
		"admin ",
		"workspace:red",
		"workspace:red:view",
		"session:s1:manage",
		"session:s1:operate",
		"workspace::read",
		"workspace:*:read",
		"workspace:a b:read",
		"workspace:red:read:more",
		"workspace:red:constructor",
		"tenant:red:read",
	])("the scope %j is refused with a list of the valid ones", (text) => {
		expect(() => parseScope(text)).toThrow(
			expect.objectContaining({ code: "invalid_argument", hint: expect.stringContaining("workspace:ID:") }),
		);
	});
});

describe("a holder of", () => {
	const workspaceOf = (session: string) => ({ s1: "red", s2: "blue" })[session];
	const may = (held: string[], wanted: string) => covers(held.map(parseScope), parseScope(wanted), workspaceOf);

	it.each<[string[], string, boolean]>([
		[["admin"], "admin", true],
		[["admin"], "session:unknown:control", true],
		[["workspace:red:manage"], "admin", false],
		[["workspace:red:manage"], "workspace:red:manage", true],
		[["workspace:red:operate"], "workspace:red:read", true],
		[["workspace:red:operate"], "workspace:red:manage", false],
		[["workspace:red:manage"], "workspace:blue:read", false],
		[["workspace:red:read", "workspace:blue:manage"], "workspace:blue:operate", true],
		[["workspace:red:operate"], "session:s1:control", true],
		[["workspace:red:read"], "session:s1:control", false],
		[["workspace:red:read"], "session:s1:view", true],
		[["workspace:red:manage"], "session:s2:view", false],
		[["workspace:red:manage"], "session:unknown:view", false],
		[["session:s1:control"], "session:s1:view", true],
		[["session:s1:view"], "session:s1:control", false],
		[["session:s1:control"], "workspace:red:read", false],
		[[], "session:s1:view", false],
	])("a holder of %j granting %s: %s", (held, wanted, expected) => {
		expect(may(held, wanted)).toBe(expected);
	});
});
