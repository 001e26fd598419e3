/** What becomes of acts that are held when several things happen to them at once. */

import { expect, it, onTestFinished } from "vitest";
import { everything } from "../../src/access/fixed.ts";
import { systemClock } from "../../src/backends/clock.ts";
import { spawn } from "../../src/backends/spawn.ts";
import { type Approval, Approvals, type Asked } from "../../src/core/approvals.ts";
import { LocalSession } from "../../src/core/local-session.ts";
import { itemsUntil } from "../helpers/reading.ts";
import { shell } from "../helpers/starts.ts";

const person = everything("person");

function askedBy(account: string, rest: Partial<Asked> = {}): Asked {
	return {
		session: { id: "s", name: null, workspace: "default" },
		by: { id: account, name: account },
		account,
		kind: "run",
		reason: "match",
		preview: "",
		sha256: "",
		offset: null,
		fence: null,
		timeoutMs: 60_000,
		target: undefined,
		check: async () => undefined,
		...rest,
	};
}

function open() {
	let last = 0;
	const approvals = new Approvals({ clock: systemClock, newId: () => `approval-${++last}` });
	onTestFinished(() => approvals.close());
	const states: string[] = [];
	approvals.watch(({ state }) => states.push(state));
	const hold = (asked: Asked, gone?: AbortSignal): Promise<Approval> => approvals.hold(asked, gone, () => {});
	return { approvals, hold, states };
}

it("what is withdrawn while it is being granted is not granted any more", async () => {
	const { approvals, hold, states } = open();
	const gone = new AbortController();
	let allow = () => {};
	const checked = new Promise<undefined>((resolve) => {
		allow = () => resolve(undefined);
	});
	const held = hold(askedBy("agent", { check: () => checked }), gone.signal);
	const granting = approvals.decide(person, "approval-1", { decision: "grant" });
	gone.abort();
	allow();
	expect([await held, await granting]).toMatchObject([{ state: "withdrawn" }, { state: "withdrawn" }]);
	expect(states).toEqual(["asked", "withdrawn"]);
});

it("what can't be looked at any more is not granted", async () => {
	const { approvals, hold } = open();
	const held = hold(askedBy("agent", { check: () => Promise.reject(new Error("the keeper does not answer")) }));
	await approvals.decide(person, "approval-1", { decision: "grant" });
	expect(await held).toMatchObject({ state: "expired" });
});

it("what nobody waits for, or has nothing to be done to, is over at once", async () => {
	const { hold } = open();
	const session = await LocalSession.start(shell("true"), { spawn, clock: systemClock });
	await itemsUntil(session, { offset: 0 });
	expect(await hold(askedBy("agent", { target: session }))).toMatchObject({ state: "expired" });
	expect(await hold(askedBy("agent"), AbortSignal.abort())).toMatchObject({ state: "withdrawn" });
});

it("no more is held than people look at, and nothing by a server that is closed", async () => {
	const { approvals, hold } = open();
	const all = Array.from({ length: 256 }, (_, index) => hold(askedBy(`agent-${index}`)));
	await expect(hold(askedBy("one-more"))).rejects.toMatchObject({ code: "limit_exceeded" });
	approvals.close();
	expect(new Set((await Promise.all(all)).map(({ state }) => state))).toEqual(new Set(["withdrawn"]));
	await expect(hold(askedBy("late"))).rejects.toMatchObject({ code: "node_unavailable" });
});
