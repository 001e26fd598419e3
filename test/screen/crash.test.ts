/** A server that is killed at any moment: whoever comes to the next one sees the screen of a terminal that never left. */

import { expect, it, onTestFinished } from "vitest";
import { TestSocket } from "../fronts/native/test-socket.ts";
import { CrashingServer } from "../helpers/crashing-server.ts";
import { temporaryDirectory } from "../helpers/temporary.ts";
import { type ProgramServer, play, programs } from "./programs.ts";
import { terminalOf } from "./received.ts";
import { isSound, stateOf } from "./terminal-state.ts";

/** Of the looks at a program, so many are made until the server is killed again. */
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
		// What no sequence leads to is another matter.
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
