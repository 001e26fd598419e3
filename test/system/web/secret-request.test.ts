/** The page for a secret that an agent requested, with a real server and a real program. */

import { expect, it } from "vitest";
import { connect } from "../../../src/client/index.ts";
import { SecretPage } from "../../../web/state/secret-request.ts";
import { eventually } from "../../support/reading.ts";
import { start } from "../../support/server.ts";

it("the page shows the request, gives the secret to the program once, and reports when it is over", async () => {
	const server = await start();
	const person = connect({ url: server.url, token: server.adminToken });
	const { token } = await person.tokens.create({ scopes: ["workspace:default:manage"], secrets: "request" });
	const agent = connect({ url: server.url, token });
	const script = `for n in 1 2; do read -r -s -p "Secret $n: " it; echo got \${#it}; done; cat`;
	const session = await agent.sessions.create({ argv: ["bash", "-c", script], durable: false });
	const asked = (question: string) =>
		eventually(question, async () => {
			const { kind, lastLine } = await session.inspect();
			return kind === "secret" && lastLine.endsWith(question) && session.requestSecret({ reason: "to go on" });
		});
	const first = await asked("Secret 1:");
	const page = new SecretPage(person);
	await page.load(first.id);
	expect(page.state.value).toMatchObject({ kind: "asked", request: { prompt: "Secret 1:", reason: "to go on" } });
	await page.give(first, "two\nlines");
	expect(page.state.value).toMatchObject({ kind: "asked", problem: expect.stringContaining("control characters") });
	await page.give(first, "hunter-two");
	expect(page.state.value).toEqual({ kind: "given" });
	await page.load(first.id);
	expect(page.state.value).toEqual({ kind: "over" });
	const second = await asked("Secret 2:");
	await page.load(second.id);
	await page.refuse(second);
	expect(page.state.value).toEqual({ kind: "refused" });
	expect((await session.text()).text).toBe("Secret 1: got 10\nSecret 2:\n");
});
