/** A server killed at any moment: clients of the next one see the same screen as a terminal that stayed connected. */

import { expect, it, onTestFinished } from "vitest";
import { CrashingServer } from "../support/crashing-server.ts";
import { terminalOf } from "../support/received.ts";
import { type ProgramServer, play, programs } from "../support/screen-programs.ts";
import { TestSocket } from "../support/socket-client.ts";
import { temporaryDirectory } from "../support/temporary.ts";
import { isSound, stateOf } from "../support/terminal-state.ts";

/** Screens compared per kill of the server. */
const LOOKS_FOR_EACH = 5;

const crashed = programs.filter(({ name }) => ["vim", "a shell with a coloured prompt"].includes(name));

it.each(crashed)("$name", { timeout: 90_000 }, async (program) => {
	const server = new CrashingServer(await temporaryDirectory());
	onTestFinished(() => server.killAll());
	await server.start();
	const token = await server.token();
	const come = (id: string, from: { from: "screen" } | { since: number }) =>
		TestSocket.open(server.url, id, { role: "viewer", ...from }, { token });
	const returned: TestSocket[] = [];
	let looks = 0;
	const id = await play(requests(server, token), program, async (session) => {
		if (++looks % LOOKS_FOR_EACH === 0) {
			await server.kill();
			await server.start();
		}
		returned.push(await come(session, { from: "screen" }));
	});
	const stayed = await come(id, { since: 0 });
	await stayed.closed;
	for (const { received, messages } of returned) {
		const welcome = messages.find(({ type }) => type === "welcome");
		if (welcome?.type !== "welcome" || !welcome.screen) throw new Error("it was not shown the screen");
		const { output, screen: size } = welcome;
		const expected = terminalOf(stayed.received, { offset: output.from, size });
		// States that no sequence can restore are excluded.
		if (!isSound(expected)) continue;
		const screen = received.filter((one) => one === welcome || ("kind" in one && one.kind === "screen"));
		const shown = stateOf(terminalOf(screen), { hasScrollback: false });
		expect(shown, `at byte ${output.from}`).toEqual(stateOf(expected, { hasScrollback: false }));
	}
	expect(returned.length).toBeGreaterThan(2 * LOOKS_FOR_EACH);
});

function requests(server: CrashingServer, token: string): ProgramServer {
	const request: ProgramServer["request"] = (path, init = {}) =>
		fetch(`${server.url}${path}`, { ...init, headers: { authorization: `Bearer ${token}`, ...init.headers } });
	return {
		request,
		async create(body) {
			const headers = { "content-type": "application/json" };
			const response = await request("/v1/sessions", { method: "POST", headers, body: JSON.stringify(body) });
			return (await response.json()) as { id: string };
		},
	};
}
