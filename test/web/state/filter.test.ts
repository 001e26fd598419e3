import { expect, it } from "vitest";
import { groupSessions, matchesFilter } from "../../../src/client/index.ts";
import { commonLabels } from "../../../web/state/common-labels.ts";
import { noFilter } from "../../../web/state/route.ts";
import { asking, listed, NOW } from "../../support/session-info.ts";

const session = listed({ id: "k3v9", name: "web-dev", labels: { kind: "dev", host: "edge" }, workspace: "red" });

it.each([
	["", true],
	["web", true],
	["WEB vite", true],
	["host=edge", true],
	["billing", true],
	["k3v9", true],
	["web nothing", false],
])("all words of a query must match a name, command, directory or label: %j", (q, isFound) => {
	expect(matchesFilter(session, { ...noFilter, q })).toBe(isFound);
});

it("a workspace and labels match exactly", () => {
	expect(matchesFilter(session, { ...noFilter, workspace: "red" })).toBe(true);
	expect(matchesFilter(session, { ...noFilter, workspace: "re" })).toBe(false);
	expect(matchesFilter(session, { ...noFilter, labels: ["kind", "host=edge"] })).toBe(true);
	expect(matchesFilter(session, { ...noFilter, labels: ["kind=de"] })).toBe(false);
	expect(matchesFilter(session, { ...noFilter, labels: ["toString"] })).toBe(false);
});

it("each session is in one group, and rows keep their order during activity", () => {
	const old = listed({ id: "old", createdAt: 1 });
	const young = listed({ id: "young", createdAt: 2, overview: { lastOutputAt: 0 } });
	const ended = listed({ id: "ended", state: "closed", exit: { code: 0, signal: null }, endedAt: 5 });
	const later = { ...ended, id: "later", endedAt: 6 };
	const needing = { ...asking("Go on?"), id: "needing" };
	const groups = groupSessions([old, ended, needing, young, later], noFilter, {
		now: NOW,
		dismissed: new Set(),
		held: [],
	});
	expect(groups.needing.map(({ session: { id } }) => id)).toEqual(["needing"]);
	expect(groups.running.map(({ id }) => id)).toEqual(["young", "old"]);
	expect(groups.ended.map(({ id }) => id)).toEqual(["later", "ended"]);
});

it("the most frequent labels are offered, up to the limit", () => {
	const all = [{ kind: "ci" }, { kind: "ci" }, { kind: "agent" }, { host: "edge" }].map((labels) => listed({ labels }));
	expect(commonLabels(all, 2)).toEqual([
		{ label: "kind=ci", count: 2 },
		{ label: "host=edge", count: 1 },
	]);
});
