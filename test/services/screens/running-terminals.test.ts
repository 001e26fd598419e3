/** Attends to the terminals of running programs. */

import { expect, onTestFinished, test } from "vitest";
import { spawn } from "../../../src/backends/spawn.ts";
import { systemClock } from "../../../src/backends/system-clock.ts";
import { SessionError } from "../../../src/core/errors.ts";
import { inProcess } from "../../../src/core/session/in-process-sessions.ts";
import { SessionRegistry } from "../../../src/core/session/session-registry.ts";
import { RunningTerminals } from "../../../src/services/screens/running-terminals.ts";
import type { Code } from "../../../src/words/error-code.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { eventually } from "../../support/reading.ts";
import { startOf } from "../../support/starts.ts";

async function attend(code: Code) {
	const home = inProcess({ spawn, clock: systemClock });
	const sessions = new SessionRegistry({ homes: { durable: home, transient: home }, maxRunning: 9, maxEnded: 9 });
	const session = await sessions.create(startOf(["/bin/cat"]));
	onTestFinished(() => sessions.remove(session.id));
	const clock = new FakeClock();
	const reports: unknown[] = [];
	let attended = 0;
	const terminals = new RunningTerminals({
		sessions,
		clock,
		report: (problem) => reports.push(problem),
		attend: async () => {
			attended++;
			throw new SessionError(code, "it can't be attended");
		},
	});
	onTestFinished(() => terminals.close());
	return { sessions, session, clock, reports, terminals, attended: () => attended };
}

const turn = () => new Promise((resolve) => setImmediate(resolve));

test.each<Code>(["node_unavailable", "limit_exceeded"])(
	"a terminal that can't be attended because of %s is attended again, once in five seconds, until its program ends",
	async (code) => {
		const { sessions, session, clock, reports, attended } = await attend(code);
		await turn();
		expect(attended()).toBe(1);
		for (const count of [2, 3]) {
			clock.advance(4_999);
			await turn();
			expect(attended()).toBe(count - 1);
			clock.advance(1);
			await turn();
			expect(attended()).toBe(count);
		}
		await sessions.remove(session.id);
		clock.advance(60_000);
		await turn();
		expect(attended()).toBe(3);
		expect(reports).toEqual([]);
	},
);

test("a terminal that can't be attended at all is not attended again", async () => {
	const { clock, attended } = await attend("unsupported");
	await eventually("the first", () => attended() === 1);
	await turn();
	clock.advance(60_000);
	await turn();
	expect(attended()).toBe(1);
});
