/** The model of one session's screen. */

import { expect, onTestFinished, test } from "vitest";
import { systemClock } from "../../../src/backends/system-clock.ts";
import { SessionError } from "../../../src/core/errors.ts";
import type { Session } from "../../../src/core/session/session.ts";
import { MemoryCheckpoints } from "../../../src/services/screens/checkpoints.ts";
import { CurrentScreen } from "../../../src/services/screens/current-screen.ts";
import { localScreens, signal } from "../../support/local-screens.ts";
import { eventually } from "../../support/reading.ts";

test("a follower that fails leaves no model in the thread", async () => {
	const { start, thread } = await localScreens();
	const session = await start("echo on; exec cat");
	const models = new Set<number>();
	const ask = thread.ask.bind(thread);
	thread.ask = (model, name, ...asks) => {
		if (name === "open") models.add(model);
		if (name === "close") models.delete(model);
		return ask(model, name, ...asks);
	};
	// Its keeper becomes unreachable after the first request.
	const unreachable: Session = Object.create(session, {
		follow: {
			value: () => {
				throw new SessionError("node_unavailable", "the keeper does not answer");
			},
		},
	});
	Object.setPrototypeOf(unreachable, new Proxy(session, { get: (target, name) => bound(target, name) }));
	const follower = new CurrentScreen(unreachable, { thread, checkpoints: new MemoryCheckpoints(), clock: systemClock });
	onTestFinished(() => follower.close());
	await eventually("the failure", () => follower.hasFailed);
	expect([...models]).toEqual([]);
	await expect(follower.ask((feeder) => feeder.view(), signal)).rejects.toMatchObject({ code: "node_unavailable" });
});

/** Binds methods and getters to the session, because it has private fields. */
function bound(session: Session, name: string | symbol): unknown {
	const value: unknown = Reflect.get(session, name, session);
	return typeof value === "function" ? value.bind(session) : value;
}
