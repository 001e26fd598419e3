/** How requests for secrets end, on a real terminal and by a clock that a test moves; who may do what is tested with a server. */

import { expect, it, onTestFinished } from "vitest";
import { everything } from "../../src/access/fixed.ts";
import { systemClock } from "../../src/backends/clock.ts";
import { spawn } from "../../src/backends/spawn.ts";
import { noAudit } from "../../src/core/audit.ts";
import { isWaiting } from "../../src/core/inspection.ts";
import { LocalSession } from "../../src/core/local-session.ts";
import { Witness } from "../../src/core/witness.ts";
import { SecretRequests } from "../../src/fronts/secret-requests.ts";
import { FakeClock } from "../helpers/fake-clock.ts";
import { eventually, outputUntil, write } from "../helpers/reading.ts";
import { startOf } from "../helpers/starts.ts";

const principal = everything("agent");
const doer = { principal, witness: new Witness(noAudit, { from: "local", front: "test" }, principal, () => null) };

/** A program that asks for a secret, and then says nothing more than that it has one. */
async function asked() {
	const script = `read -r -s -p "secret? " it; echo got; exec sleep 1000`;
	const session = await LocalSession.start(startOf(["bash", "-c", script]), { spawn, clock: systemClock });
	onTestFinished(() => session.kill({ graceMs: 0 }));
	await eventually("the question", async () => isWaiting(await session.inspect()));
	const clock = new FakeClock();
	const requests = new SecretRequests({ sessions: { get: () => session }, clock, audit: noAudit });
	const news: string[] = [];
	requests.watch(({ status }) => news.push(status));
	const { signal } = new AbortController();
	const request = await requests.ask(session, {}, { asker: principal, witness: doer.witness, signal });
	return { session, clock, requests, request, news };
}

it("a request is over after five minutes, and not before", async () => {
	const { clock, requests, request, news } = await asked();
	clock.advance(5 * 60_000 - 1);
	expect(requests.get(request.id)).toBe(request);
	clock.advance(1);
	await eventually("its end", () => news.length === 2);
	expect(news).toEqual(["asked", "expired"]);
});

it("a request is over when the program goes on, also if it asks nothing else", async () => {
	const { session, news } = await asked();
	await write(session, "typed at the terminal\r");
	await eventually("its end", () => news.length === 2);
	expect(news).toEqual(["asked", "expired"]);
});

it("what the program says to a secret before that is known to be typed does not end the request", async () => {
	const { session, requests, news } = await asked();
	const slowly = async () => {
		const receipt = await session.secret(Buffer.from("password"), {});
		await outputUntil(session, /got/);
		// Whoever follows the session hears of it before us.
		await new Promise((resolve) => setImmediate(resolve));
		return receipt;
	};
	await requests.typed(session, doer, slowly());
	expect(news).toEqual(["asked", "given"]);
});
