/** Dialogs of coding agents in `hawser watch`: shown in the row, and answered by numbers or after Enter. */

import { afterAll, beforeAll, expect, it, onTestFinished } from "vitest";
import { type Client, connect, type LoadedSession } from "../../../src/client/node/index.ts";
import { XtermModel } from "../../../src/emulator/xterm-model.ts";
import { agentProgram, recordedAgent } from "../../support/agents.ts";
import { Terminal } from "../../support/cli-terminal.ts";
import { TestHawser } from "../../support/hawser-command.ts";
import { eventually } from "../../support/reading.ts";

let hawser: TestHawser;
let client: Client;
beforeAll(async () => {
	hawser = await TestHawser.create();
	client = connect({ stateDir: hawser.stateDir });
});
afterAll(() => hawser.remove());

const SIZE = { cols: 160, rows: 24 };

async function startAgent(argv: readonly string[], name: string): Promise<LoadedSession> {
	const session = await client.sessions.create({ argv: [...argv], name, cols: 120, rows: 40, durable: false });
	onTestFinished(() => session.remove());
	return session;
}

/** A table and the rows that it shows. */
async function openTable() {
	const terminal = await Terminal.start(hawser, ["watch"], SIZE);
	const model = new XtermModel(SIZE);
	let fed = 0;
	const lines = () => {
		const bytes = terminal.run.bytes();
		model.feed(bytes.subarray(fed));
		fed = bytes.byteLength;
		return model.view().lines;
	};
	const shows = async (wanted: RegExp) => {
		try {
			return await eventually(`a row that matches ${wanted}`, () => lines().find((line) => wanted.test(line)));
		} catch (error) {
			throw new Error(`${(error as Error).message}; the table shows:\n${lines().join("\n")}`);
		}
	};
	return { terminal, lines, shows };
}

const stateOf = async (session: LoadedSession) => (await session.inspect()).agent?.state;

it("a row shows what an agent asks, a number answers it, and a late one is refused in the row", async () => {
	const { argv, typed } = await recordedAgent("codex-0.166.0", ["permission-shell", "done"]);
	const session = await startAgent(argv, "fix");
	const { terminal, shows } = await openTable();
	const row = await shows(/> fix +asks permission .*\[1 Yes/);
	expect(row).toMatch(/Would you like to run the following command\? \$ touch made-by-agent\.txt \[1 Yes, proceed/);
	await shows(/number or Enter answer/);
	await terminal.type("9");
	await shows(/fix .*(?:has no choice 9|has just changed)/);
	expect(await typed()).toBe("");
	await terminal.type("\r");
	await shows(/^ {2}3\. No, and tell Codex/);
	// Enter alone answers nothing.
	await terminal.type("\r");
	await terminal.type("1");
	await shows(/fix +done .*sent "Yes, proceed \(y\)"/);
	expect(await typed()).toBe("1");
	expect(await stateOf(session)).toBe("done");
});

it("a number answers the selected row without Enter, and text goes into the dialog's field", async () => {
	const session = await startAgent([await agentProgram("claude")], "ask");
	await eventually("an idle agent", async () => (await stateOf(session)) === "idle");
	const { terminal, shows, lines } = await openTable();
	await shows(/> ask +idle/);
	await terminal.type("\r");
	await shows(/^prompt ask:/);
	await terminal.type("shell\r");
	await shows(/> ask +asks permission .*Do you want to proceed\?/);
	// The question has to be displayed for a moment.
	await eventually("an accepted number", async () => {
		await terminal.type("1");
		return lines().some((line) => /sent "Yes, proceed|answering/.test(line));
	});
	await shows(/ask +(?:done|idle) /);
	const screen = async () => (await session.screen()).lines?.join("\n") ?? "";
	expect(await screen()).toContain("finished Yes, proceed (y)");

	await session.prompt("question");
	await shows(/> ask +asks .*Which database/);
	await terminal.type("\r");
	await shows(/^ {2}3\. Type something\./);
	await terminal.type("3");
	await shows(/^answer ask:/);
	await terminal.type("use DuckDB\r");
	await shows(/sent "use DuckDB"/);
	expect(await screen()).toContain("finished use DuckDB");
});

it("an answer to a dialog that another client has answered types nothing, and the row says so", async () => {
	const { argv, typed } = await recordedAgent("codex-0.166.0", ["permission-shell", "done", "working"]);
	const session = await startAgent(argv, "late");
	const { terminal, shows } = await openTable();
	await shows(/> late +asks permission/);
	await terminal.type("\r");
	await shows(/^ {2}3\. No, and tell Codex/);
	const { agent } = await session.inspect();
	await session.answer({ episode: agent?.episode ?? 0, choice: "1" });
	await shows(/Answer late \(the question changed\)\?/);
	await terminal.type("3");
	await shows(/late .*not sent: the question changed/);
	expect(await typed()).toBe("1");
});
