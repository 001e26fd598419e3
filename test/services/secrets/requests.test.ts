/** How secret requests end, on a real terminal and with a test clock. The rights of callers are tested with a server. */

import { expect, it, onTestFinished } from "vitest";
import { fullAccess } from "../../../src/access/fixed-access.ts";
import { spawn } from "../../../src/backends/spawn.ts";
import { systemClock } from "../../../src/backends/system-clock.ts";
import { isWaitingForInput } from "../../../src/core/inspect/inspection.ts";
import { noAudit } from "../../../src/core/policy/audit.ts";
import { AuditedCaller } from "../../../src/core/policy/audited-caller.ts";
import { LocalSession } from "../../../src/core/session/local-session.ts";
import { SecretRequests } from "../../../src/services/secrets/requests.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { eventually, outputUntil, write } from "../../support/reading.ts";
import { startOf } from "../../support/starts.ts";

const principal = fullAccess("agent");
const doer = {
	principal,
	witness: new AuditedCaller(noAudit, { from: "local", front: "test" }, principal, () => null),
};

/** A program that asks for a secret, and then only prints that it has one. */
async function asked() {
	const script = `read -r -s -p "secret? " it; echo got; exec sleep 1000`;
	const session = await LocalSession.start(startOf(["bash", "-c", script]), { spawn, clock: systemClock });
	onTestFinished(() => session.kill({ graceMs: 0 }));
	await eventually("the question", async () => isWaitingForInput(await session.inspect()));
	const clock = new FakeClock();
	const requests = new SecretRequests({ sessions: { get: () => session }, clock, audit: noAudit });
	const news: string[] = [];
	requests.watch(({ status }) => news.push(status));
	const { signal } = new AbortController();
	const request = await requests.ask(session, {}, { asker: principal, witness: doer.witness, signal });
	return { session, clock, requests, request, news };
}

it("a request expires after five minutes, and not before", async () => {
	const { clock, requests, request, news } = await asked();
	clock.advance(5 * 60_000 - 1);
	expect(requests.get(request.id)).toBe(request);
	clock.advance(1);
	await eventually("its end", () => news.length === 2);
	expect(news).toEqual(["asked", "expired"]);
});

it("a request expires when the program continues, also without another prompt", async () => {
	const { session, news } = await asked();
	await write(session, "typed at the terminal\r");
	await eventually("its end", () => news.length === 2);
	expect(news).toEqual(["asked", "expired"]);
});

it("output that reacts to a secret before the typing is confirmed does not expire the request", async () => {
	const { session, requests, news } = await asked();
	const slowly = async () => {
		const receipt = await session.secret(Buffer.from("password"), {});
		await outputUntil(session, /got/);
		// The session's followers get the output before the confirmation arrives.
		await new Promise((resolve) => setImmediate(resolve));
		return receipt;
	};
	await requests.typed(session, doer, slowly());
	expect(news).toEqual(["asked", "given"]);
});
