/** A person takes a session over from an agent and gives it back, and the agent hears of it. */

import { expect, onTestFinished, test } from "vitest";
import { type Client, connect, type Session } from "../../src/client/index.ts";
import { takeoverLine } from "../../src/fronts/takeover.ts";
import type { RunAnswer } from "../../src/protocol/acts.ts";
import { CrashingServer } from "../helpers/crashing-server.ts";
import { eventually } from "../helpers/reading.ts";
import { temporaryDirectory } from "../helpers/temporary.ts";

async function served(): Promise<{ server: CrashingServer; client: Client; session: Session }> {
	const server = new CrashingServer(await temporaryDirectory());
	await server.start();
	onTestFinished(() => server.killAll());
	const client = connect({ url: server.url, token: await server.token() });
	const home = await temporaryDirectory();
	const session = await client.sessions.create({ argv: ["bash"], cwd: home, env: { HOME: home } });
	return { server, client, session };
}

/** Takes control, runs commands by hand, does something before giving it back. */
async function takeOver(
	session: Session,
	commands: readonly string[],
	meanwhile: () => Promise<void> = async () => {},
) {
	await using person = session.attach({ since: "end" });
	await person.take();
	for (const [index, command] of commands.entries()) {
		const before = (await session.commands()).commands.length;
		await person.write(`${command}\r`);
		await eventually(`the end of command ${index}`, async () => {
			const { commands: known } = await session.commands();
			return known.length > before && known.at(-1)?.endedAt !== null;
		});
	}
	await meanwhile();
	await person.release();
}

const refused = { code: "not_writable" };

test("human take-over and hand-back with the fence: a delayed write is refused, and the next call tells what was done", async () => {
	const { session } = await served();
	const { fence, takeovers } = await session.exec("echo one");
	expect(takeovers).toEqual([]);
	const from = (await session.info()).offsets.end;
	await takeOver(session, ["echo p1", "echo p2", "echo p3"], async () => {
		// Delayed, by an agent that knows nothing of it yet.
		await expect(session.exec("echo late")).rejects.toMatchObject(refused);
		await expect(session.send({ text: "late", keys: ["Enter"] })).rejects.toMatchObject(refused);
		await expect(session.write("late\r", { fence })).rejects.toMatchObject(refused);
	});
	// Delayed even more: it was meant for what was there before.
	await expect(session.exec("echo late", { fence })).rejects.toMatchObject(refused);
	await expect(session.send({ text: "late", keys: ["Enter"] }, { fence })).rejects.toMatchObject(refused);

	const next = await session.exec("echo two");
	expect(next).toMatchObject({ status: "ended", text: "two\n", takeovers: [{ commands: 3 }] });
	const [told] = next.takeovers;
	if (!told) throw new Error("nothing was told");
	expect(takeoverLine(told)).toBe(`[a person had control: bytes ${told.from}–${told.to}, 3 commands]`);
	expect(told.holder).toMatch(/^admin#/);
	expect(told.from).toBeGreaterThanOrEqual(from);
	const { text } = await session.text(told.from, { limit: told.to - told.from });
	expect(text).toMatch(/p1[\s\S]*p2[\s\S]*p3/);
	expect(text).not.toMatch(/late|two/);
	expect(await session.exec("echo three", { fence: next.fence })).toMatchObject({ status: "ended", takeovers: [] });

	await takeOver(session, []);
	expect(await session.send({ text: "true", keys: ["Enter"], until: { end: true } })).toMatchObject({
		cause: "end",
		takeovers: [{ commands: 0 }],
	});
});

test("a call that is repeated is told the same again, and every caller is told once", async () => {
	const { server, client, session } = await served();
	const token = await server.token();
	const run = async (key: string): Promise<RunAnswer> => {
		const response = await fetch(`${server.url}/v1/sessions/${session.id}/run`, {
			method: "POST",
			headers: { authorization: `Bearer ${token}`, "content-type": "application/json", "idempotency-key": key },
			body: JSON.stringify({ command: "true" }),
		});
		return (await response.json()) as RunAnswer;
	};
	const agent = await client.tokens.create({ name: "agent", scopes: ["workspace:default:operate"] });
	const other = connect({ url: server.url, token: agent.token }).sessions.at(session.id);
	await run("a:0");
	await other.exec("true");
	await takeOver(session, ["true"]);
	expect((await run("b:0")).takeovers).toMatchObject([{ commands: 1 }]);
	expect((await run("b:0")).takeovers).toMatchObject([{ commands: 1 }]);
	expect((await run("c:0")).takeovers).toEqual([]);
	expect((await other.exec("true")).takeovers).toMatchObject([{ commands: 1 }]);
});
