import { readFileSync } from "node:fs";
import { describe, expect, it, onTestFinished } from "vitest";
import { Lines } from "../../../src/fronts/json-rpc/stdio.ts";
import { ExecClient } from "./exec-client.ts";
import { sh } from "./exec-harness.ts";
import { type StdioExec, startStdioExec } from "./exec-stdio.ts";

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

describe("stdio", () => {
	it("carries one message in each line, and passes over blank ones", async () => {
		const exec = startStdioExec();
		const client = await open(exec);
		exec.input.write("\n  \t\r\n\r\n");
		exec.input.write('{"method":"init');
		exec.input.write('ialized"}\r\n');
		const log = await client.start("p", ["echo", "hi"]);
		expect((await log.closed()).text()).toBe("hi\n");
	});

	it("answers what can't be read in its own words, and goes on", async () => {
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

	it.each(["the end of its input", "the end of its reader", "a signal"])("ends everything with %s", async (how) => {
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

	it("answers a last line that does not end", async () => {
		const exec = startStdioExec();
		const client = await open(exec);
		exec.link.send = (text) => exec.input.end(text);
		expect(await client.request("environment/status")).toEqual({ status: "ready" });
		await exec.ended;
	});

	it("ends with a client that sends what is no text", async () => {
		const exec = startStdioExec();
		const client = await open(exec);
		const sent = client.messages.length;
		exec.input.write(Buffer.from([0xff, 0xfe, 0x0a]));
		exec.input.write('{"id":"after","method":"environment/status"}\n');
		await exec.ended;
		expect(client.messages).toHaveLength(sent);
	});

	it("ends with a client that breaks the protocol", async () => {
		const exec = startStdioExec();
		const client = await open(exec);
		client.notify("what");
		await exec.ended;
	});

	it("stops reading when too much waits, and goes on", async () => {
		const exec = startStdioExec({ limits: { waitingRequests: 4 } });
		const client = await open(exec);
		const answers = await Promise.all(Array.from({ length: 300 }, () => client.request("environment/status")));
		expect(answers).toHaveLength(300);
	});
});

describe("a line", () => {
	it("of exactly the limit is taken, and one that is longer is not, even before it ends", () => {
		const lines = new Lines(10);
		expect([...lines.add(Buffer.from("0123456789\nabc"))].map(String)).toEqual(["0123456789"]);
		expect(lines.isTooLong).toBe(false);
		expect([...lines.add(Buffer.from("defghijk"))]).toEqual([]);
		expect(lines.isTooLong).toBe(true);
	});

	it("that is longer disconnects", async () => {
		const exec = startStdioExec({ limits: { messageBytes: 1000 } });
		exec.input.write(`{"x":"${"y".repeat(2000)}`);
		await exec.ended;
		expect(exec.problems).toEqual([]);
	});
});
