import fc from "fast-check";
import { expect, test } from "vitest";
import type { AccessResource } from "../../src/core/policy/access.ts";
import { covers, grants, parseScope, type Scope } from "../../src/core/policy/scope.ts";
import type { Right } from "../../src/words/rights.ts";

const rights: readonly Right[] = ["read", "operate", "manage"];
const workspaces = ["red", "blue"];
const sessions: Readonly<Record<string, string>> = { s1: "red", s2: "red", s3: "blue" };
const workspaceOf = (session: string) => sessions[session];
const places: readonly AccessResource[] = [
	...workspaces.map((workspace) => ({ workspace })),
	...Object.entries(sessions).map(([session, workspace]) => ({ workspace, session })),
];

const scope: fc.Arbitrary<Scope> = fc
	.oneof(
		fc.constant("admin"),
		fc
			.tuple(fc.constantFrom(...workspaces), fc.constantFrom(...rights))
			.map(([id, right]) => `workspace:${id}:${right}`),
		fc
			.tuple(fc.constantFrom(...Object.keys(sessions)), fc.constantFrom("view", "control"))
			.map(([id, right]) => `session:${id}:${right}`),
	)
	.map(parseScope);
const held = fc.array(scope, { maxLength: 4 });

/** Everything that a set of scopes allows, as access checks request it. */
function allowed(scopes: readonly Scope[]): Set<string> {
	const pairs = places.flatMap((place) => rights.map((right) => ({ place, right })));
	const granted = pairs.filter(({ place, right }) => scopes.some((one) => grants(one, right, place)));
	return new Set(granted.map(({ place, right }) => `${right} ${place.workspace}/${place.session ?? ""}`));
}

test("a scope is granted only by a caller with all of its rights", () => {
	fc.assert(
		fc.property(held, scope, (holder, wanted) => {
			const mayGive = covers(holder, wanted, workspaceOf);
			const gains = [...allowed([wanted])].filter((one) => !allowed(holder).has(one));
			if (mayGive) expect(gains).toEqual([]);
			// The reverse does not hold: a holder of each workspace is not the operator.
			else if (wanted.kind !== "admin") expect(gains).not.toEqual([]);
		}),
		{ numRuns: 2_000 },
	);
});

test("granted scopes can be granted on, and never grow on the way", () => {
	fc.assert(
		fc.property(held, scope, scope, (holder, given, again) => {
			fc.pre(covers(holder, given, workspaceOf) && covers([given], again, workspaceOf));
			expect(covers(holder, again, workspaceOf)).toBe(true);
		}),
		{ numRuns: 2_000 },
	);
});

test("more scopes never allow less, and a right includes those below it everywhere", () => {
	fc.assert(
		fc.property(held, scope, (holder, more) => {
			const before = allowed(holder);
			const after = allowed([...holder, more]);
			for (const one of before) expect(after.has(one)).toBe(true);
			for (const { workspace, session = "" } of places) {
				const at = (right: Right) => after.has(`${right} ${workspace}/${session}`);
				if (at("manage")) expect(at("operate")).toBe(true);
				if (at("operate")) expect(at("read")).toBe(true);
			}
		}),
		{ numRuns: 2_000 },
	);
});

test("a scope of a removed session is granted only by the operator", () => {
	fc.assert(
		fc.property(held, fc.constantFrom("view", "control"), (holder, word) => {
			const wanted = parseScope(`session:gone:${word}`);
			expect(covers(holder, wanted, workspaceOf)).toBe(holder.some(({ kind }) => kind === "admin"));
		}),
	);
});
