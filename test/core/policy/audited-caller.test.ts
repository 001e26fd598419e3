/** The last check before a start: fronts check rights earlier, but a front that forgets to starts nothing. */

import { expect, it } from "vitest";
import { fullAccess } from "../../../src/access/fixed-access.ts";
import { spawn } from "../../../src/backends/spawn.ts";
import { systemClock } from "../../../src/backends/system-clock.ts";
import type { AuditEntry } from "../../../src/core/policy/audit.ts";
import { AuditedCaller } from "../../../src/core/policy/audited-caller.ts";
import { inProcess } from "../../../src/core/session/in-process-sessions.ts";
import { SessionRegistry } from "../../../src/core/session/session-registry.ts";
import type { Right } from "../../../src/words/rights.ts";
import { startOf } from "../../support/starts.ts";

const home = inProcess({ spawn, clock: systemClock });
const usual = { cwd: "/", env: {} };

function open(holds: readonly Right[]) {
	const sessions = new SessionRegistry({ homes: { durable: home, transient: home }, maxRunning: 9, maxEnded: 9 });
	const recorded: Partial<AuditEntry>[] = [];
	const audit = { record: (entry: Partial<AuditEntry>) => void recorded.push(entry) };
	const bearer = { ...fullAccess("token"), may: (right: Right) => holds.includes(right) };
	const caller = new AuditedCaller(audit, { from: "local", front: "test" }, bearer, () => null);
	return { sessions, caller, recorded };
}

it("a caller that may operate the workspace but not manage it starts nothing, and its attempt is recorded", async () => {
	const { sessions, caller, recorded } = open(["read", "operate"]);
	await expect(caller.create(sessions, { ...startOf(["true"]), usual })).rejects.toMatchObject({
		code: "permission_denied",
		message: 'this token may not manage workspace "default"',
	});
	expect(sessions.list()).toEqual([]);
	expect(recorded).toMatchObject([{ action: "refused", code: "permission_denied", right: "manage" }]);
});

it("a caller that is not identified starts nothing", async () => {
	const { sessions } = open([]);
	const stranger = new AuditedCaller({ record: () => {} }, { from: "local", front: "test" }, null, () => null);
	await expect(stranger.create(sessions, { ...startOf(["true"]), usual })).rejects.toMatchObject({
		code: "permission_denied",
	});
	expect(sessions.list()).toEqual([]);
});

it("a caller that may manage the workspace starts a program", async () => {
	const { sessions, caller, recorded } = open(["manage"]);
	const session = await caller.create(sessions, { ...startOf(["true"]), usual });
	expect(sessions.list()).toEqual([session]);
	expect(recorded).toMatchObject([{ action: "open", program: "true" }]);
	await session.kill();
});
