/** Commands in a session's shell through the SDK, one after the other on one handle. */

import { expect, onTestFinished, test } from "vitest";
import { connect } from "../../src/client/index.ts";
import { CrashingServer } from "../support/crashing-server.ts";
import { temporaryDirectory } from "../support/temporary.ts";

test.each([true, false])(
	"commands run on one handle after another one was resumed by its number (durable: %s)",
	async (durable) => {
		const server = new CrashingServer(await temporaryDirectory());
		await server.start();
		onTestFinished(() => server.killAll());
		const client = connect({ url: server.url, token: await server.token() });
		const home = await temporaryDirectory();
		const shell = await client.sessions.create({ argv: ["bash"], cwd: home, env: { HOME: home }, durable });
		expect(await shell.exec("ran=0")).toMatchObject({ status: "ended" });
		const late = await shell.exec("read -r line; echo got $line");
		expect(late).toMatchObject({ status: "waiting", seq: expect.any(Number) });
		const running = await shell.exec(late.seq ?? Number.NaN, { timeoutMs: 1 });
		expect(running).toMatchObject({ seq: late.seq, exitCode: null });
		await shell.write("a line\n");
		expect(await shell.exec(late.seq ?? Number.NaN)).toMatchObject({
			status: "ended",
			text: expect.stringContaining("got a line\n"),
		});
		for (const count of [1, 2, 3]) {
			expect(await shell.exec("echo $((ran += 1))")).toMatchObject({
				status: "ended",
				exitCode: 0,
				text: `${count}\n`,
			});
		}
		expect((await shell.commands()).commands.map(({ command }) => command)).toHaveLength(5);
	},
);
