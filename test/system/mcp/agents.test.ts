/** An agent that leads another one over MCP: its state, prompts and answers. */

import { expect, it, onTestFinished } from "vitest";
import { agentProgram } from "../../support/agents.ts";
import { CrashingServer } from "../../support/crashing-server.ts";
import { callToolText, connectOverHttp, placeOf } from "../../support/mcp-client.ts";
import { temporaryDirectory } from "../../support/temporary.ts";

it("a prompt is submitted, a dialog is named in the state, and only that dialog is answered", async () => {
	const server = new CrashingServer(await temporaryDirectory());
	await server.start();
	onTestFinished(() => server.killAll());
	const client = await connectOverHttp(await placeOf(server.stateDir), "2026-07-28");
	onTestFinished(() => client.close());
	const call = (tool: string, args: object) => callToolText(client, tool, { ...args });
	const send = (args: object) => call("send", { session: "fix", ...args });
	const argv = [process.execPath, await agentProgram("codex")];
	expect(await call("start", { argv, name: "fix", wait: 30 })).toMatch(/^\[idle · codex · /);
	const asked = await send({ text: "shell touch one then rm two", submit: true });
	const [, dialog] = /^\[blocked by permission dialog (\d+) · codex · "Would you like to run/.exec(asked) ?? [];
	expect(asked).toContain("1 Yes, proceed (y)");
	expect(asked).toContain("$ touch one");
	expect(await call("sessions", {})).toMatch(new RegExp(`^fix · blocked by permission dialog ${dialog} · codex · `));
	expect(await call("read", { session: "fix", what: "screen" })).toContain(`blocked by permission dialog ${dialog}`);

	const blocked = send({ text: "next", submit: true });
	await expect(blocked).rejects.toThrow(/^\[blocked\] .*nothing was typed[\s\S]*\n.*blocked by permission dialog/);
	await expect(blocked).rejects.toThrow("\n$ touch one");
	await expect(send({ dialog: Number(dialog), choice: "7" })).rejects.toThrow("[invalid_choice] ");
	await expect(send({ choice: "1" })).rejects.toThrow("[invalid_argument] dialog: is required");
	await expect(send({ dialog: Number(dialog), keys: ["Enter"] })).rejects.toThrow("[invalid_argument] keys, paste: ");

	const next = await send({ dialog: Number(dialog), choice: "1" });
	expect(next).toMatch(/^\[blocked by permission dialog \d+ · /);
	expect(next).toContain("$ rm two");
	await expect(send({ dialog: Number(dialog), choice: "1" })).rejects.toThrow("[stale] ");
	const [, later] = /^\[blocked by permission dialog (\d+)/.exec(next) ?? [];
	expect(await send({ dialog: Number(later), choice: "2" })).toMatch(/^\[(?:done|idle) · codex/);
	const screen = await call("read", { session: "fix", what: "screen" });
	expect(screen.match(/• finished/g)).toHaveLength(2);
	expect(screen).not.toContain("finished next");
});
