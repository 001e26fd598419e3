/** Program status (OSC 7501) in the terminal of `hawser attach`. */

import { afterAll, beforeAll, expect, test } from "vitest";
import { LEFT, Terminal } from "../../support/cli-terminal.ts";
import { TestHawser } from "../../support/hawser-command.ts";

let hawser: TestHawser;
beforeAll(async () => {
	hawser = await TestHawser.create();
});
afterAll(() => hawser.remove());

const report = (body: string) => `\u001b]7501;${body}`;
const QUERY = `${report("?")}\u001b\\`;

/** Writes a report for each line that it reads, and then the line in brackets. */
const REPORTER = `stty -echo; echo ready; while IFS= read -r body; do printf '\\033]7501;%s\\007[%s]\\n' "$body" "$body"; done`;

async function start(...bodies: string[]): Promise<string> {
	const id = await hawser.detached(REPORTER);
	await hawser.run(["wait", id, "--match", "ready"]);
	for (const body of bodies) await hawser.run(["send", id, body, "--enter"]);
	if (bodies.length > 0) await hawser.run(["wait", id, "--match", `\\[${bodies.at(-1)}\\]`]);
	return id;
}

test("a terminal that keeps records gets the current ones, no old ones, and none is left when it detaches", async () => {
	const id = await start("state=blocked:app=old", "state=working:app=x:progress=7");
	const terminal = await Terminal.start(hawser, ["attach", id]);
	await terminal.attached();
	await terminal.shows(QUERY);
	expect(terminal.screen).not.toContain(report("state"));
	await terminal.type(QUERY);
	await terminal.shows(`${report("state=working:progress=7:app=x")}\u001b\\`);
	// The reply was not typed into the program, and the session's reports come as they are written.
	await terminal.type("state=done:app=x\r");
	await terminal.shows(`${report("state=done:app=x")}\u0007[state=done:app=x]`);
	expect(terminal.screen).not.toContain(report("state=blocked"));
	await terminal.type("\r~.");
	expect(await terminal.ended()).toEqual(LEFT);
	expect(terminal.screen).toContain(`${report("state=clear")}\u001b\\`);
});

test("a terminal that keeps no records gets none", async () => {
	const id = await start("state=working:app=x");
	const terminal = await Terminal.start(hawser, ["attach", id]);
	await terminal.attached();
	await terminal.type("app=x\r");
	await terminal.shows("[app=x]");
	await terminal.type("\r~.");
	expect(await terminal.ended()).toEqual(LEFT);
	expect(terminal.screen).not.toContain(report("state"));
});
