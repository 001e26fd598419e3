/** Held actions with several concurrent decisions. */

import { expect, it, onTestFinished } from "vitest";
import { fullAccess } from "../../../src/access/fixed-access.ts";
import { spawn } from "../../../src/backends/spawn.ts";
import { systemClock } from "../../../src/backends/system-clock.ts";
import { type Approval, type ApprovalRequest, Approvals } from "../../../src/core/policy/approvals.ts";
import { LocalSession } from "../../../src/core/session/local-session.ts";
import { itemsUntil } from "../../support/reading.ts";
import { shell } from "../../support/starts.ts";

const person = fullAccess("person");

function askedBy(account: string, rest: Partial<ApprovalRequest> = {}): ApprovalRequest {
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
	const hold = (asked: ApprovalRequest, gone?: AbortSignal): Promise<Approval> => approvals.hold(asked, gone, () => {});
	return { approvals, hold, states };
}

it("an action withdrawn during its approval is not approved", async () => {
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

it("an action that can't be shown any more is not approved", async () => {
	const { approvals, hold } = open();
	const held = hold(askedBy("agent", { check: () => Promise.reject(new Error("the keeper does not answer")) }));
	await approvals.decide(person, "approval-1", { decision: "grant" });
	expect(await held).toMatchObject({ state: "expired" });
});

it("an action without a waiting caller, or without a target, ends at once", async () => {
	const { hold } = open();
	const session = await LocalSession.start(shell("true"), { spawn, clock: systemClock });
	await itemsUntil(session, { offset: 0 });
	expect(await hold(askedBy("agent", { target: session }))).toMatchObject({ state: "expired" });
	expect(await hold(askedBy("agent"), AbortSignal.abort())).toMatchObject({ state: "withdrawn" });
});

it("accounts that hold all they may leave a place for the next account", async () => {
	const { approvals, hold } = open();
	const refused: unknown[] = [];
	for (let index = 0; index < 9 * 40; index++) {
		hold(askedBy(`agent-${index % 40}`)).catch((error: unknown) => refused.push(error));
	}
	await Promise.resolve();
	expect(approvals.list(person).length).toBeLessThan(256);
	await expect(hold(askedBy("agent-0"))).rejects.toMatchObject({
		code: "limit_exceeded",
		message: expect.stringMatching(/^no more actions waiting for approval: this token has \d(;| \(limit)/),
	});
	const held = hold(askedBy("newcomer"));
	approvals.close();
	expect(await held).toMatchObject({ state: "withdrawn" });
	expect(refused.length).toBeGreaterThan(100);
});

it("held actions are limited in number, and a closed server holds none", async () => {
	const { approvals, hold } = open();
	const all = Array.from({ length: 256 }, (_, index) => hold(askedBy(`agent-${index}`)));
	await expect(hold(askedBy("one-more"))).rejects.toMatchObject({ code: "limit_exceeded" });
	approvals.close();
	expect(new Set((await Promise.all(all)).map(({ state }) => state))).toEqual(new Set(["withdrawn"]));
	await expect(hold(askedBy("late"))).rejects.toMatchObject({ code: "node_unavailable" });
});
