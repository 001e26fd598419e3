import { readFileSync } from "node:fs";
import { describe, expect, it, onTestFinished } from "vitest";
import { LineSplitter } from "../../../../src/fronts/json-rpc/stdio.ts";
import { ExecClient } from "./support/exec-client.ts";
import { sh } from "./support/exec-harness.ts";
import { type StdioExec, startStdioExec } from "./support/exec-stdio.ts";

async function open(exec: StdioExec): Promise<ExecClient> {
	const client = new ExecClient(exec.link);
	onTestFinished(async () => {
		exec.input.end();
		await exec.ended;
		expect([...exec.problems, ...client.violations]).toEqual([]);
	});
	await client.handshake();
	return client;
}

describe("exec-server on stdio", () => {
	it("a message is one line, and blank lines are skipped", async () => {
		const exec = startStdioExec();
		const client = await open(exec);
		exec.input.write("\n  \t\r\n\r\n");
		exec.input.write('{"method":"init');
		exec.input.write('ialized"}\r\n');
		const log = await client.start("p", ["echo", "hi"]);
		expect((await log.closed()).text()).toBe("hi\n");
	});

	it("an unreadable line is answered with its own error, and the next one is processed", async () => {
		const exec = startStdioExec();
		const client = await open(exec);
		exec.input.write("not-json\n");
		const answer = await client.message(({ id }) => id === -1);
		expect(answer.error).toMatchObject({
			code: -32600,
			message: expect.stringMatching(/^failed to parse JSON-RPC message from exec-server stdio: ./),
		});
		expect(await client.request("environment/status")).toEqual({ status: "ready" });
	});

	it.each(["the end of its input", "the end of its reader", "a signal"])("%s ends everything on stdio", async (how) => {
		const exec = startStdioExec();
		const client = await open(exec);
		const log = await client.start("p", sh("trap '' HUP TERM; echo $$; sleep 30; sleep 30"));
		const pid = Number((await log.output("\n")).text());
		if (how === "a signal") exec.stop();
		else if (how === "the end of its reader") exec.output.destroy(new Error("EPIPE"));
		else exec.input.end();
		await exec.ended;
		expect(() => readFileSync(`/proc/${pid}/stat`, "utf8")).toThrow(/ENOENT/);
	});

	it("a last line without an end is answered", async () => {
		const exec = startStdioExec();
		const client = await open(exec);
		exec.link.send = (text) => exec.input.end(text);
		expect(await client.request("environment/status")).toEqual({ status: "ready" });
		await exec.ended;
	});

	it("the server disconnects a client that sends invalid UTF-8", async () => {
		const exec = startStdioExec();
		const client = await open(exec);
		const sent = client.messages.length;
		exec.input.write(Buffer.from([0xff, 0xfe, 0x0a]));
		exec.input.write('{"id":"after","method":"environment/status"}\n');
		await exec.ended;
		expect(client.messages).toHaveLength(sent);
	});

	it("the server disconnects a client that violates the protocol", async () => {
		const exec = startStdioExec();
		const client = await open(exec);
		client.notify("what");
		await exec.ended;
	});

	it("the server stops reading when too much is queued, and resumes", async () => {
		const exec = startStdioExec({ limits: { waitingRequests: 4 } });
		const client = await open(exec);
		const answers = await Promise.all(Array.from({ length: 300 }, () => client.request("environment/status")));
		expect(answers).toHaveLength(300);
	});
});

describe("line length", () => {
	it("a line of exactly the limit is accepted, and a longer one refused, even before its end", () => {
		const lines = new LineSplitter(10);
		expect([...lines.add(Buffer.from("0123456789\nabc"))].map(String)).toEqual(["0123456789"]);
		expect(lines.isTooLong).toBe(false);
		expect([...lines.add(Buffer.from("defghijk"))]).toEqual([]);
		expect(lines.isTooLong).toBe(true);
	});

	it("a longer line disconnects the client", async () => {
		const exec = startStdioExec({ limits: { messageBytes: 1000 } });
		exec.input.write(`{"x":"${"y".repeat(2000)}`);
		await exec.ended;
		expect(exec.problems).toEqual([]);
	});
});
