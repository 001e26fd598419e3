import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Terminal } from "../../support/cli-terminal.ts";
import { main, TestHawser } from "../../support/hawser-command.ts";

let hawser: TestHawser;
beforeAll(async () => {
	hawser = await TestHawser.create();
});
afterAll(() => hawser.remove());

/** Runs in a session started here, so that its programs find the same server. */
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

it("attach refuses the session it runs in and the sessions around that", async () => {
	const own = await inSession("attach", "here");
	await own.shows("<255>");
	expect(own.output).toContain("here is the session you are in");
	await own.ended();
	const nested = await inSession("run", "--", "node", main, "attach", "here");
	await nested.shows("<255>");
	expect(nested.output).toContain("here is a session that contains the one you are in");
	await nested.ended();
});

it("attach without a name skips its own session and ended sessions", async () => {
	const alone = await inSession("attach");
	await alone.shows("<255>");
	expect(alone.output).toContain("no running session other than the current one");
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
	it("detach --others in a session detaches every client except the terminal it was typed in", async () => {
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
			expect(other.output).toContain("detached all other clients; the program keeps running");
		}
		await here.shows("hawser: detached 2 clients; the program keeps running\r\n<0>");
		await here.type(`node ${main} detach crowd --others\r`);
		await here.shows("hawser: no other clients attached");
		await here.type("exit\r");
		expect(await here.ended()).toEqual({ code: 0, isRestored: true });
	});

	it("detach --others outside a session is refused", async () => {
		await hawser.run(["run", "--detach", "--name", "far", "--", "cat"]);
		const refused = await hawser.run(["detach", "far", "--others"]);
		expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining("--others works only inside far") });
		const nowhere = await hawser.run(["detach"]);
		expect(nowhere).toMatchObject({ code: 1, stderr: expect.stringContaining("not inside a session") });
	});
});
