import { afterAll, beforeAll, expect, it } from "vitest";
import { connect, offsetsOf } from "../../../src/client/index.ts";
import { TestHawser } from "../../support/hawser-command.ts";
import { callTool, callToolText, connectOverHttp, eras, type Place, placeOf } from "../../support/mcp-client.ts";
import { eventually } from "../../support/reading.ts";

let hawser: TestHawser;
let place: Place;
beforeAll(async () => {
	hawser = await TestHawser.create();
	place = await placeOf(hawser.stateDir);
});
afterAll(() => hawser.remove());

it.each(eras)(
	"an agent of %s is informed of what a person did during take-over, and hand-back works with the fence",
	async (era) => {
		const name = `shared-${era.slice(0, 4)}`;
		const agent = await connectOverHttp(place, era);
		await callToolText(agent, "run", { session: name, command: "echo one" });
		const { sessions } = connect(place);
		const [found] = await sessions.list({ name });
		const session = sessions.at(found?.id ?? "");
		const from = offsetsOf(await session.info()).end;
		const person = session.attach({ since: "end" });
		await person.take();
		for (const count of [2, 3, 4]) {
			await person.write("echo by hand\r");
			await eventually(`command ${count}`, async () => (await session.commands()).commands[count - 1]?.endedAt != null);
		}
		expect(await callTool(agent, "run", { session: name, command: "echo late" })).toMatchObject({
			text: expect.stringMatching(/^\[not_writable\]/),
			isError: true,
		});
		await person.release();
		await person.detach();

		const [, line, ...output] = (await callToolText(agent, "run", { session: name, command: "echo two" })).split("\n");
		const [, begin, end] = /^\[a person had control: bytes (\d+)–(\d+), 3 commands\]$/.exec(line ?? "") ?? [];
		expect(output).toEqual(["two", ""]);
		expect(Number(begin)).toBeGreaterThanOrEqual(from);
		const done = { session: name, what: "output", since: Number(begin), limit: Number(end) - Number(begin) };
		expect((await callToolText(agent, "read", done)).match(/^by hand$/gm)).toHaveLength(3);
		expect(await callToolText(agent, "run", { session: name, command: "echo three" })).not.toContain("had control");
		await agent.close();
	},
);
