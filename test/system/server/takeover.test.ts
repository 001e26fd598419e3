/** A person takes a session over from an agent and returns it, and the agent is informed. */

import { expect, onTestFinished, test } from "vitest";
import type { RunAnswer } from "../../../src/api/types.ts";
import { type Client, connect, offsetsOf, type Session } from "../../../src/client/index.ts";
import { takeoverLine } from "../../../src/fronts/mcp/report.ts";
import { CrashingServer } from "../../support/crashing-server.ts";
import { eventually } from "../../support/reading.ts";
import { temporaryDirectory } from "../../support/temporary.ts";

async function served(): Promise<{ server: CrashingServer; client: Client; session: Session }> {
	const server = new CrashingServer(await temporaryDirectory());
	await server.start();
	onTestFinished(() => server.killAll());
	const client = connect({ url: server.url, token: await server.token() });
	const home = await temporaryDirectory();
	const session = await client.sessions.create({ argv: ["bash"], cwd: home, env: { HOME: home } });
	return { server, client, session };
}

/** Takes control, types commands, and runs a callback before returning control. */
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

test("a delayed write after take-over is refused, and the agent's next call reports what the person did", async () => {
	const { session } = await served();
	const { fence, takeovers } = await session.exec("echo one");
	expect(takeovers).toEqual([]);
	const from = offsetsOf(await session.info()).end;
	await takeOver(session, ["echo p1", "echo p2", "echo p3"], async () => {
		// Delayed, from an agent that does not know of the take-over yet.
		await expect(session.exec("echo late")).rejects.toMatchObject(refused);
		await expect(session.send({ text: "late", keys: ["Enter"] })).rejects.toMatchObject(refused);
		await expect(session.write("late\r", { fence })).rejects.toMatchObject(refused);
	});
	// Delayed even more: it was meant for the earlier state.
	await expect(session.exec("echo late", { fence })).rejects.toMatchObject(refused);
	await expect(session.send({ text: "late", keys: ["Enter"] }, { fence })).rejects.toMatchObject(refused);

	const next = await session.exec("echo two");
	expect(next).toMatchObject({ status: "ended", text: "two\n", takeovers: [{ commands: 3 }] });
	const [takeover] = next.takeovers;
	if (!takeover) throw new Error("no take-over was reported");
	expect(takeoverLine(takeover)).toBe(`[a person had control: bytes ${takeover.from}–${takeover.to}, 3 commands]`);
	expect(takeover.holder).toMatch(/^admin#/);
	expect(takeover.from).toBeGreaterThanOrEqual(from);
	const { text } = await session.text(takeover.from, { limit: takeover.to - takeover.from });
	expect(text).toMatch(/p1[\s\S]*p2[\s\S]*p3/);
	expect(text).not.toMatch(/late|two/);
	expect(await session.exec("echo three", { fence: next.fence })).toMatchObject({ status: "ended", takeovers: [] });

	await takeOver(session, []);
	expect(await session.send({ text: "true", keys: ["Enter"], until: { end: true } })).toMatchObject({
		cause: "end",
		takeovers: [{ commands: 0 }],
	});
});

test("a repeated call gets the same report again, and every caller gets it once", async () => {
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
