import { expect, it } from "vitest";
import { grouped, matches } from "../../src/client/index.ts";
import { commonLabels } from "../../web/state/filter.ts";
import { everything } from "../../web/state/route.ts";
import { asking, listed, NOW } from "./listed.ts";

const session = listed({ id: "k3v9", name: "web-dev", labels: { kind: "dev", host: "edge" }, workspace: "red" });

it.each([
	["", true],
	["web", true],
	["WEB vite", true],
	["host=edge", true],
	["billing", true],
	["k3v9", true],
	["web nothing", false],
])("a query finds all of its words, in a name, a command, a place or a label: %j", (q, isFound) => {
	expect(matches(session, { ...everything, q })).toBe(isFound);
});

it("a workspace and labels are matched as a whole", () => {
	expect(matches(session, { ...everything, workspace: "red" })).toBe(true);
	expect(matches(session, { ...everything, workspace: "re" })).toBe(false);
	expect(matches(session, { ...everything, labels: ["kind", "host=edge"] })).toBe(true);
	expect(matches(session, { ...everything, labels: ["kind=de"] })).toBe(false);
	expect(matches(session, { ...everything, labels: ["toString"] })).toBe(false);
});

it("each session is in one group, and rows do not move while it only goes on", () => {
	const old = listed({ id: "old", createdAt: 1 });
	const young = listed({ id: "young", createdAt: 2, overview: { lastOutputAt: 0 } });
	const ended = listed({ id: "ended", state: "closed", exit: { code: 0, signal: null }, endedAt: 5 });
	const later = { ...ended, id: "later", endedAt: 6 };
	const needing = { ...asking("Go on?"), id: "needing" };
	const groups = grouped([old, ended, needing, young, later], everything, { now: NOW, dismissed: new Set(), held: [] });
	expect(groups.needing.map(({ session: { id } }) => id)).toEqual(["needing"]);
	expect(groups.running.map(({ id }) => id)).toEqual(["young", "old"]);
	expect(groups.ended.map(({ id }) => id)).toEqual(["later", "ended"]);
});

it("the labels that most have are offered, and no more than fit", () => {
	const all = [{ kind: "ci" }, { kind: "ci" }, { kind: "agent" }, { host: "edge" }].map((labels) => listed({ labels }));
	expect(commonLabels(all, 2)).toEqual([
		{ label: "kind=ci", count: 2 },
		{ label: "host=edge", count: 1 },
	]);
});
