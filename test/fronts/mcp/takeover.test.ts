import { afterAll, beforeAll, expect, it } from "vitest";
import { connect } from "../../../src/client/index.ts";
import { Installation } from "../../cli/hawser.ts";
import { eventually } from "../../helpers/reading.ts";
import { callTool, connectOverHttp, eras, type Place, placeOf, told } from "./mcp-client.ts";

let hawser: Installation;
let place: Place;
beforeAll(async () => {
	hawser = await Installation.create();
	place = await placeOf(hawser.stateDir);
});
afterAll(() => hawser.remove());

it.each(eras)("Human take-over and hand-back with the fence: an agent of %s hears what was done", async (era) => {
	const name = `shared-${era.slice(0, 4)}`;
	const agent = await connectOverHttp(place, era);
	await told(agent, "run", { session: name, command: "echo one" });
	const { sessions } = connect(place);
	const [found] = await sessions.list({ name });
	const session = sessions.at(found?.id ?? "");
	const from = (await session.info()).offsets.end;
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

	const [, line, ...output] = (await told(agent, "run", { session: name, command: "echo two" })).split("\n");
	const [, begin, end] = /^\[a person had control: bytes (\d+)–(\d+), 3 commands\]$/.exec(line ?? "") ?? [];
	expect(output).toEqual(["two", ""]);
	expect(Number(begin)).toBeGreaterThanOrEqual(from);
	const done = { session: name, what: "output", since: Number(begin), limit: Number(end) - Number(begin) };
	expect((await told(agent, "read", done)).match(/^by hand$/gm)).toHaveLength(3);
	expect(await told(agent, "run", { session: name, command: "echo three" })).not.toContain("had control");
	await agent.close();
});
