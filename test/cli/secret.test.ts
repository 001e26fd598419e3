import { open, readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { connect } from "../../src/local/index.ts";
import { connectOverHttp, placeOf, told } from "../fronts/mcp/mcp-client.ts";
import { temporaryDirectory } from "../helpers/temporary.ts";
import { Installation } from "./hawser.ts";

const SOON = { timeout: 10_000 };

let hawser: Installation;
beforeAll(async () => {
	hawser = await Installation.create();
});
afterAll(() => hawser.remove());

/** Asks for a secret without showing it, writes it in several ways, and goes on. */
const CARELESS = `read -r -s -p 'Password: ' it; echo
	echo "it is $it"; printf %s "$it" | base64 -w0; echo; printf %s "x$it" | base64 -w0; echo; printf %s "$it" | od -An -tx1 | tr -d ' \\n'; echo; echo done; cat`;

async function asks(session: string, what = "waits for a secret"): Promise<void> {
	await expect.poll(async () => (await hawser.run(["why", session])).stdout, SOON).toContain(what);
}

const wrote = (session: string) => hawser.run(["logs", session]);

/** All files below a directory. */
async function filesOf(directory: string): Promise<Buffer> {
	const entries = await readdir(directory, { recursive: true, withFileTypes: true });
	const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
	return Buffer.concat(await Promise.all(files.map((file) => readFile(file))));
}

/** How often a process has something in its memory. */
async function inMemory(pid: number, wanted: Buffer): Promise<number> {
	const maps = await readFile(`/proc/${pid}/maps`, "utf8");
	const memory = await open(`/proc/${pid}/mem`);
	let count = 0;
	try {
		for (const line of maps.split("\n")) {
			const [, from = "0", to = "0"] = /^([0-9a-f]+)-([0-9a-f]+) rw/.exec(line) ?? [];
			const length = Number.parseInt(to, 16) - Number.parseInt(from, 16);
			if (length === 0) continue;
			const bytes = Buffer.alloc(length);
			const { bytesRead } = await memory
				.read(bytes, 0, length, Number.parseInt(from, 16))
				.catch(() => ({ bytesRead: 0 }));
			const seen = bytes.subarray(0, bytesRead);
			for (let at = seen.indexOf(wanted); at >= 0; at = seen.indexOf(wanted, at + 1)) count++;
			bytes.fill(0);
		}
	} finally {
		await memory.close();
	}
	return count;
}

describe("a password that a person types", () => {
	it("is nowhere afterwards: not in output, screen, search, recording, files, audit, an agent's answers or the server's memory", async () => {
		const password = Buffer.from([..."hunter-two/"].reverse().join("") + process.pid);
		const session = "careless";
		await hawser.detached(CARELESS, { name: session });
		await asks(session);
		const agent = await connectOverHttp(await placeOf(hawser.stateDir), "2026-07-28");
		try {
			const asked = await told(agent, "read", { session, until: { input: true } });
			expect(asked).toMatch(
				/^\[waiting for a secret · \w+ · "Password:" .* a person can enter it: hawser secret careless · /,
			);
			const typed = await hawser.run(["secret", session], { input: `${password}\n` });
			expect(typed).toEqual({ code: 0, stdout: "", stderr: "hawser: careless: bash asks for a secret: Password:\n" });
			await expect.poll(async () => (await wrote(session)).stdout, SOON).toContain("done");
			const stars = "*".repeat(password.byteLength);
			const logs = (await wrote(session)).stdout;
			expect(logs).toContain(`it is ${stars}\r\n`);
			const all = [
				logs,
				await told(agent, "read", { session, what: "output" }),
				await told(agent, "read", { session, what: "screen" }),
				(await hawser.run(["screen", session])).stdout,
				(await hawser.run(["grep", ".", session])).stdout,
				(await hawser.run(["export", session])).stdout,
				(await hawser.run(["audit"])).stdout,
				hawser.serverRemarks,
				(await filesOf(hawser.stateDir)).toString("latin1"),
			].join("\n");
			const forms = [
				password.toString(),
				password.toString("base64").slice(0, -4),
				Buffer.from(`x${password}`).toString("base64").slice(2, -4),
				encodeURIComponent(password.toString()),
				password.toString("hex"),
			];
			for (const form of forms) expect(all.includes(form)).toBe(false);
			expect((await hawser.run(["audit", "--json"])).stdout).toContain('"secret"');
			const { pid } = JSON.parse(await readFile(join(hawser.stateDir, "server.json"), "utf8")) as { pid: number };
			expect(await inMemory(pid, password)).toBe(0);
		} finally {
			await agent.close();
		}
	});

	it("is refused while the terminal would show it, and nothing is typed", async () => {
		const session = await hawser.detached("read -p 'Name: ' it; echo got-$it; cat");
		await asks(session, "waits for a line");
		const refused = await hawser.run(["secret", session], { input: "hunter2\n" });
		expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining("does not ask for a secret") });
		expect((await wrote(session)).stdout).toBe("Name: ");
	});

	it("is refused by the session itself, at a prompt that shows it, at a shell's, and for a question that has changed", async () => {
		const client = connect({ stateDir: hawser.stateDir });
		const refused = { code: "not_waiting" };
		const line = client.sessions.at(await hawser.detached("read -p 'Name: ' it; echo got-$it; cat"));
		await asks(line.id, "waits for a line");
		await expect(line.secret("hunter-two")).rejects.toMatchObject(refused);
		await expect(line.secret("two\nlines")).rejects.toMatchObject({ code: "invalid_argument" });
		const shell = await client.sessions.create({ argv: ["bash", "--norc"], mode: "pty" });
		await asks(shell.id, "is ready for a command");
		await expect(shell.secret("hunter-two")).rejects.toMatchObject(refused);
		const asker = await hawser.detached("read -s -p 'one? ' a; read -s -p 'two? ' b; echo $a-$b; cat");
		const session = client.sessions.at(asker);
		await asks(asker, "one?");
		const { offset } = await session.inspect();
		await session.secret("first", { ifWaiting: offset });
		await asks(asker, "two?");
		await expect(session.secret("late", { ifWaiting: offset })).rejects.toMatchObject(refused);
		await session.secret("second", { ifWaiting: (await session.inspect()).offset });
		await expect.poll(async () => (await wrote(asker)).stdout, SOON).toBe("one? two? first-******\r\n");
		for (const { id } of [line, shell]) expect((await wrote(id)).stdout).not.toContain("hunter");
	});

	it("comes from where --from says, or by itself to the only one that asks", async () => {
		const directory = await temporaryDirectory();
		const script = `cd ${directory}; for n in 1 2 3; do read -r -s -p "secret $n? " it; echo; printf %s "$it" > got-$n; done; cat`;
		const session = await hawser.detached(script);
		const got = (number: number) => readFile(join(directory, `got-${number}`), "utf8").catch(() => "");
		await asks(session, "secret 1?");
		expect(await hawser.run(["secret", "--from", "env:PASSWORD"], { env: { PASSWORD: "from env" } })).toMatchObject({
			code: 0,
		});
		await asks(session, "secret 2?");
		expect(await hawser.run(["secret", session, "--from", `file:${join(directory, "got-1")}`])).toMatchObject({
			code: 0,
		});
		await asks(session, "secret 3?");
		expect(await hawser.run(["secret", session, "--from", "cmd:echo from cmd"])).toMatchObject({ code: 0 });
		await expect.poll(() => got(3), SOON).toBe("from cmd");
		expect([await got(1), await got(2)]).toEqual(["from env", "from env"]);
		expect((await hawser.run(["secret"])).stderr).toContain("no session asks for a secret");
	});
});
