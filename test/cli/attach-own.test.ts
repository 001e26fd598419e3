import { afterAll, beforeAll, describe, expect, it } from "vitest";
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

describe("detach --others", () => {
	it("in a session sends everybody away but the terminal that it was typed in", async () => {
		const here = await Terminal.start(hawser, ["run", "--name", "crowd", "--", "bash", "--norc"]);
		await here.attached();
		const others = [
			await Terminal.start(hawser, ["attach", "crowd"]),
			await Terminal.start(hawser, ["attach", "crowd", "--view"]),
		];
		for (const other of others) await other.attached();
		await here.type(`node ${main} detach --others; echo "<$?>"\r`);
		for (const other of others) {
			expect(await other.ended()).toEqual({ code: 0, isRestored: true });
			expect(other.output).toContain("has detached everybody else; the program keeps running");
		}
		await here.shows("hawser: 2 detached; the program keeps running\r\n<0>");
		await here.type(`node ${main} detach crowd --others\r`);
		await here.shows("hawser: nobody else was attached");
		await here.type("exit\r");
		expect(await here.ended()).toEqual({ code: 0, isRestored: true });
	});

	it("is refused outside of the session, where everybody is another", async () => {
		await hawser.run(["run", "--detach", "--name", "far", "--", "cat"]);
		const refused = await hawser.run(["detach", "far", "--others"]);
		expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining("you are not in far") });
		const nowhere = await hawser.run(["detach"]);
		expect(nowhere).toMatchObject({ code: 1, stderr: expect.stringContaining("you are in no session") });
	});
});
