import { afterAll, beforeAll, expect, it } from "vitest";
import { Installation, main } from "./hawser.ts";
import { Terminal } from "./terminal.ts";

let hawser: Installation;
beforeAll(async () => {
	hawser = await Installation.create();
});
afterAll(() => hawser.remove());

/** In a session that was started here, so that what it runs finds the same server. */
async function inSession(...args: string[]): Promise<Terminal> {
	return Terminal.start(hawser, [
		"run",
		"--name",
		"here",
		"--",
		"bash",
		"--norc",
		"-c",
		'node "$@"; echo "<$?>"',
		"bash",
		main,
		...args,
	]);
}

it("does not attach to the session that it is in, nor to one around it", async () => {
	const own = await inSession("attach", "here");
	await own.shows("<255>");
	expect(own.output).toContain("here is the session that you are in");
	await own.ended();
	const nested = await inSession("run", "--", "node", main, "attach", "here");
	await nested.shows("<255>");
	expect(nested.output).toContain("here is a session around the one that you are in");
	await nested.ended();
});

it("means another one than its own and than those that have ended when no name is given", async () => {
	const alone = await inSession("attach");
	await alone.shows("<255>");
	expect(alone.output).toContain("no session is running, but for the one that you are in");
	await alone.ended();
	await hawser.run(["run", "--detach", "--", "sh", "-c", "echo other; read x"]);
	await hawser.run(["run", "--", "true"]);
	const terminal = await inSession("attach");
	await terminal.shows("other");
	await terminal.type("\r");
	await terminal.shows("<0>");
	await terminal.ended();
});
