/** `POST /command` in the foreground: the events of its stream and their order. */

import { mkdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { SessionInfo } from "../../../../src/core/session/session-info.ts";
import { isAlive } from "../../../support/alive.ts";
import { fastestMs } from "../../../support/cpu-time.ts";
import { eventually } from "../../../support/reading.ts";
import { standsStill } from "../../../support/standstill.ts";
import { temporaryDirectory } from "../../../support/temporary.ts";
import { command, createSession, Events, open, refusalOf, run } from "./support/events.ts";
import { startExecd, untilItComes } from "./support/execd-server.ts";

describe("the stream", () => {
	test("3.4: the stream has the headers, one line of bare JSON and an empty line per event, and a time in every event", async () => {
		const server = await startExecd();
		const response = await server.post("/command", { command: "echo out; echo err >&2" });
		expect(response.status).toBe(200);
		expect(response.headers.get("content-type")).toBe("text/event-stream");
		expect(response.headers.get("cache-control")).toBe("no-cache");
		expect(response.headers.get("connection")).toBe("keep-alive");
		expect(response.headers.get("x-accel-buffering")).toBe("no");
		const text = await response.text();
		expect(text).toMatch(/^(\{[^\n]*\}\n\n)+$/);
		const events = text
			.split("\n\n")
			.filter(Boolean)
			.map((line) => JSON.parse(line) as { type: string; timestamp: number });
		expect(events.map(({ type }) => type).slice(0, 2)).toEqual(["init", "ping"]);
		expect(events.at(-1)?.type).toBe("execution_complete");
		for (const { timestamp } of events) expect(Math.abs(Date.now() - timestamp)).toBeLessThan(60_000);
	});

	test("4.2: the stream has init with an id of 32 hex digits, exact output, then execution_complete with its time", async () => {
		const server = await startExecd();
		const stream = await command(server, "echo out; echo err >&2; sleep 0.05");
		expect(stream.id).toMatch(/^[0-9a-f]{12}4[0-9a-f]{3}[89ab][0-9a-f]{15}$/);
		expect(stream.stdout).toEqual(["out"]);
		expect(stream.stderr).toEqual(["err"]);
		expect(stream.types.at(0)).toBe("init");
		expect(stream.types.filter((type) => type === "execution_complete")).toHaveLength(1);
		expect(stream.last?.type).toBe("execution_complete");
		expect(stream.last?.execution_time).toBeGreaterThanOrEqual(50);
	});

	test("6.5: exit 3 is an error with the value 3 and no execution_complete", async () => {
		const server = await startExecd();
		const stream = await command(server, "echo before; exit 3");
		expect(stream.types).toEqual(["init", "stdout", "error"]);
		expect(stream.last?.error).toEqual({ ename: "CommandExecError", evalue: "3", traceback: ["exit status 3"] });
	});

	test("4.2: death by a signal is -1 in Go's words", async () => {
		const server = await startExecd();
		for (const [signal, word] of [
			["KILL", "killed"],
			["TERM", "terminated"],
			["INT", "interrupt"],
			["HUP", "hangup"],
			["USR1", "user defined signal 1"],
			["SEGV", "segmentation fault"],
		]) {
			const { last } = await command(server, `kill -${signal} $$`);
			expect(last?.error).toEqual({ ename: "CommandExecError", evalue: "-1", traceback: [`signal: ${word}`] });
		}
	});

	test("pings are sent while the command is silent, and end with the stream (I-46)", async () => {
		const server = await startExecd({ times: { streamPingMs: 20 } });
		const directory = await temporaryDirectory();
		const events = await open(server, "/command", { command: `until [ -e ${directory}/go ]; do sleep 0.01; done` });
		for (let pings = 0; pings < 3; pings++)
			expect(await events.until(({ type }) => type === "ping")).toMatchObject({ text: "pong" });
		await writeFile(join(directory, "go"), "");
		const stream = await events.all();
		expect(stream.last?.type).toBe("execution_complete");
		expect(server.problems).toEqual([]);
	});

	test("events are flushed at once, also a single line followed by silence (I-19)", async () => {
		const server = await startExecd();
		const events = await open(server, "/command", { command: "echo first; sleep 60" });
		expect(await events.until(({ type }) => type === "stdout")).toMatchObject({ text: "first" });
		await server.request(`/command?id=${events.seen[0]?.text}`, { method: "DELETE" });
		await events.all();
	});
});

describe("lines", () => {
	test("4.2, I-26: blank lines survive, carriage returns end lines, an unfinished last line is sent", async () => {
		const server = await startExecd();
		expect((await command(server, "printf 'a\\n\\nb\\n\\n\\nc\\n'")).stdout).toEqual(["a", "\n", "b", "\n", "\n", "c"]);
		expect((await command(server, "printf '10%%\\r20%%\\rdone\\r\\nrest'")).stdout).toEqual([
			"10%",
			"20%",
			"done",
			"rest",
		]);
	});

	test("I-26: \\r and \\n that arrive separately are one line end", async () => {
		const server = await startExecd();
		const stream = await command(server, "printf 'a\\r'; sleep 0.1; printf '\\nb\\n'");
		expect(stream.stdout).toEqual(["a", "b"]);
	});

	test("a carriage return is sent at once, without waiting for the next byte", async () => {
		const server = await startExecd();
		const events = await open(server, "/command", { command: "printf '50%%\\r'; sleep 60" });
		expect(await events.until(({ type }) => type === "stdout")).toMatchObject({ text: "50%" });
		await server.request(`/command?id=${events.seen[0]?.text}`, { method: "DELETE" });
		await events.all();
	});

	test("I-20: a line of 256 KiB is one event, one of 3 MiB several, and the stream continues", async () => {
		const server = await startExecd();
		const line = await command(server, "head -c 262144 /dev/zero | tr '\\0' x; echo; echo next");
		expect(line.stdout.map(({ length }) => length)).toEqual([262_144, 4]);
		const long = await command(server, "head -c 3145729 /dev/zero | tr '\\0' y; echo; echo next");
		expect(long.stdout.join("")).toBe(`${"y".repeat(3_145_729)}next`);
		expect(long.exitCode).toBe(0);
	});

	test("4.2: characters split by chunks are whole, invalid UTF-8 becomes U+FFFD", async () => {
		const server = await startExecd();
		const cut = await command(server, "printf '\\xe2\\x82'; sleep 0.1; printf '\\xac\\n'");
		expect(cut.stdout).toEqual(["€"]);
		expect((await command(server, "printf 'a\\xffb\\n\\xe2\\x82'")).stdout).toEqual(["a\uFFFDb", "\uFFFD"]);
		expect((await command(server, "printf '\\xef\\xbb\\xbfbom'")).stdout).toEqual(["\uFEFFbom"]);
	});

	test("I-27: stderr is sent as stderr", async () => {
		const server = await startExecd();
		const stream = await command(server, "for i in 1 2 3; do echo o$i; echo e$i >&2; done");
		expect(stream.stdout).toEqual(["o1", "o2", "o3"]);
		expect(stream.stderr).toEqual(["e1", "e2", "e3"]);
	});
});

describe("the end", () => {
	test("I-12, I-21: all output of the shell precedes the terminal event", async () => {
		const server = await startExecd();
		const stream = await command(server, "seq 1 200000");
		expect(stream.stdout).toHaveLength(200_000);
		expect(stream.stdout.at(-1)).toBe("200000");
		expect(stream.last?.type).toBe("execution_complete");
	});

	test("I-21: output of a process substitution after the shell's exit is still sent", async () => {
		const server = await startExecd({ times: untilItComes });
		const stream = await command(server, "exec > >(sleep 0.05; cat); echo late");
		expect(stream.stdout).toEqual(["late"]);
	});

	test("4.2: the command completes with its shell; a background child survives with its pipe", async () => {
		const server = await startExecd({ times: { drainMs: 50 } });
		const directory = await temporaryDirectory();
		const script = `(while [ ! -e ${directory}/go ]; do sleep 0.01; done; echo still here; echo ok > ${directory}/done) & echo $!`;
		const stream = await command(server, script);
		expect(stream.exitCode).toBe(0);
		const pid = Number(stream.stdout[0]);
		expect(isAlive(pid)).toBe(true);
		await writeFile(join(directory, "go"), "");
		// It could write, so its pipe was not broken. Its output belongs to no stream.
		await eventually("the child to finish", async () => !isAlive(pid));
		const look = await command(server, `cat ${directory}/done`);
		expect(look.stdout).toEqual(["ok"]);
	});

	test("an ended command leaves only its status; one with a remaining process stays until that exits", async () => {
		const server = await startExecd();
		const kept = await command(server, "sleep 1000 >/dev/null 2>&1 & echo $!");
		const session = await createSession(server);
		await run(server, session, "true");
		await eventually("one to be left", () => server.sessions.list().length === 1);
		expect(isAlive(Number(kept.stdout[0]))).toBe(true);
		process.kill(Number(kept.stdout[0]), "SIGKILL");
		await eventually("nothing to be left", () => server.sessions.list().length === 0);
		expect(await (await server.request(`/command/status/${kept.id}`)).json()).toMatchObject({
			running: false,
			exit_code: 0,
		});
	});

	test("a noisy background child does not keep the stream open", async () => {
		const server = await startExecd({ times: { drainMs: 100 } });
		// Lines of 1 KiB: half a million short ones take long to read. A number is split only where a line does not fit
		// a page.
		const stream = await command(server, "echo mine; yes $(printf %01023d 0 | tr 0 x) & echo $!");
		expect(stream.exitCode).toBe(0);
		expect(stream.stdout[0]).toBe("mine");
		const pid = Number(stream.stdout.find((line) => /^\d+$/.test(line)));
		expect(isAlive(pid)).toBe(true);
		process.kill(pid, "SIGKILL");
	});

	test("I-06, 4.2: a timeout kills the whole group", async () => {
		const server = await startExecd();
		const stream = await command(server, "trap '' TERM; sleep 1000 & echo $!; wait; sleep 1000", { timeout: 200 });
		expect(stream.last?.error).toEqual({ ename: "CommandExecError", evalue: "-1", traceback: ["signal: killed"] });
		await eventually("the child to be gone", async () => !isAlive(Number(stream.stdout[0])));
		const status = (await (await server.request(`/command/status/${stream.id}`)).json()) as object;
		expect(status).toMatchObject({ running: false, exit_code: -1, error: "signal: killed" });
	});

	test("4.3, 6.5: a stream ends with its event, without a grace second", async () => {
		const server = await startExecd();
		for (const line of ["true", "false"]) expect(await fastestMs(() => command(server, line))).toBeLessThan(500);
	});

	test("stdin is empty", async () => {
		const server = await startExecd();
		expect((await command(server, "cat; echo $?")).stdout).toEqual(["0"]);
	});
});

describe("environment and directory", () => {
	test("4.5: a command has the daemon's environment, then the file, then the request", async () => {
		const directory = await temporaryDirectory();
		const envFile = join(directory, "envs");
		await writeFile(envFile, `# a comment\nB=file\nC=file $D/x \${NOT_THERE}!\n\nno line\n`);
		const environment = () => ({ PATH: process.env.PATH ?? "", A: "daemon", B: "daemon", D: "deep" });
		const server = await startExecd({ environment, envFile });
		const line = 'echo "$A|$B|$C|$X"';
		expect((await command(server, line)).stdout).toEqual(["daemon|file|file deep/x !|"]);
		expect((await command(server, line, { envs: { B: "asked", X: "new" } })).stdout).toEqual([
			"daemon|asked|file deep/x !|new",
		]);
		await writeFile(envFile, "B=changed\n");
		expect((await command(server, line)).stdout).toEqual(["daemon|changed||"]);
		await rm(envFile);
		expect((await command(server, line)).stdout).toEqual(["daemon|daemon||"]);
	});

	test("6.5: ~ and $VAR are expanded in cwd; the request's variables win at the start", async () => {
		const home = await temporaryDirectory();
		await mkdir(join(home, "one"));
		await mkdir(join(home, "two"));
		const environment = () => ({ PATH: process.env.PATH ?? "", HOME: home, WHERE: "one" });
		const server = await startExecd({ environment, cwd: home });
		expect((await command(server, "pwd", { cwd: "~" })).stdout).toEqual([home]);
		expect((await command(server, "pwd", { cwd: "~/$WHERE" })).stdout).toEqual([`${home}/one`]);
		expect((await command(server, "pwd", { cwd: `\${WHERE}` })).stdout).toEqual([`${home}/one`]);
		expect((await command(server, "pwd", { cwd: "~/$WHERE", envs: { WHERE: "two" } })).stdout).toEqual([`${home}/two`]);
		expect((await command(server, "pwd", { cwd: "~", envs: { HOME: "/usr" } })).stdout).toEqual([home]);
		expect((await command(server, "pwd")).stdout).toEqual([home]);
	});

	test("6.5, 4.2: a cwd missing at the start gives init, then an error with the system's message", async () => {
		const home = await temporaryDirectory();
		await mkdir(join(home, "one"));
		const environment = () => ({ PATH: process.env.PATH ?? "", HOME: home, WHERE: "one" });
		const server = await startExecd({ environment });
		const stream = await command(server, "pwd", { cwd: "~/$WHERE", envs: { WHERE: "nowhere" } });
		expect(stream.types).toEqual(["init", "error"]);
		const { evalue, traceback } = stream.last?.error ?? {};
		expect(evalue).toContain("no such directory");
		expect(traceback).toEqual([evalue]);
		expect((await server.request(`/command/status/${stream.id}`)).status).toBe(404);
	});

	test("sh is used where bash is missing", async () => {
		const bin = await temporaryDirectory();
		const server = await startExecd({ environment: () => ({ PATH: bin }) });
		const missing = await command(server, "echo $0");
		expect(missing.types).toEqual(["init", "error"]);
		await symlink("/bin/sh", join(bin, "sh"));
		expect((await command(server, "echo $0")).stdout).toEqual(["sh"]);
	});
});

describe("a client that leaves or does not read", () => {
	test("I-13, 4.2: the command continues without its client, and status and interrupt still work", async () => {
		const server = await startExecd();
		const events = await open(server, "/command", {
			command: "echo $$; sleep 0.2; yes | head -c 3000000; echo done; exec sleep 1000",
		});
		const pid = Number((await events.until(({ type }) => type === "stdout")).text);
		const id = events.seen[0]?.text;
		await events.leave();
		// No reader is left, so its output does not stall it either.
		await eventually("sleep", async () => (await commandLineOf(pid)).startsWith("sleep"));
		expect((await server.request("/ping")).status).toBe(200);
		expect(await (await server.request(`/command/status/${id}`)).json()).toMatchObject({ running: true });
		expect((await server.request(`/command?id=${id}`, { method: "DELETE" })).status).toBe(200);
		expect(isAlive(pid)).toBe(false);
		expect(server.problems).toEqual([]);
	});

	test("I-24: a client that does not read stalls the program, and loses nothing when it reads", async () => {
		const server = await startExecd();
		const response = await server.post("/command", { command: "seq 1 400000" });
		const session = server.sessions.list().at(-1);
		const info = async () => (await session?.info()) as SessionInfo;
		const { pid } = await info();
		await eventually("the program to stand still", () =>
			standsStill(pid as number, async () => (await info()).offsets.end),
		);
		expect(session?.state.status).toBe("running");
		const stream = await new Events(response).all();
		expect(stream.stdout).toHaveLength(400_000);
		expect(stream.exitCode).toBe(0);
	});
});

async function commandLineOf(pid: number): Promise<string> {
	return readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "");
}

describe("refusals", () => {
	test("4.1, I-44: an invalid body is 400 INVALID_REQUEST_BODY, as JSON and not as a stream", async () => {
		const server = await startExecd();
		const file = join(await temporaryDirectory(), "file");
		await writeFile(file, "");
		const bad: unknown[] = [
			undefined,
			{},
			{ command: "" },
			{ command: 1 },
			{ command: "true", timeout: -1 },
			{ command: "true", timeout: "5" },
			{ command: "true", timeout: 1.5 },
			{ command: "true", uid: -1 },
			{ command: "true", gid: 0 },
			{ command: "true", background: "yes" },
			{ command: "true", envs: { A: 1 } },
			{ command: "true", cwd: "/no/such/directory" },
			{ command: "true", cwd: file },
			{ command: "true", cwd: "$NOT_DEFINED_ANYWHERE" },
			{ command: "true", cwd: "$ONLY_IN_ENVS", envs: { ONLY_IN_ENVS: "/tmp" } },
		];
		for (const body of bad) {
			expect((await refusalOf(server.post("/command", body))).slice(0, 2), JSON.stringify(body)).toEqual([
				400,
				"INVALID_REQUEST_BODY",
			]);
		}
		expect(server.problems).toEqual([]);
	});

	test("I-34: too many concurrent commands give an error status, not half a stream", async () => {
		const server = await startExecd({ maxRunning: 1 });
		const events = await open(server, "/command", { command: "exec sleep 1000" });
		expect((await refusalOf(server.post("/command", { command: "true" }))).slice(0, 2)).toEqual([429, "RUNTIME_ERROR"]);
		const { text: id } = await events.until(({ type }) => type === "init");
		await server.request(`/command?id=${id}`, { method: "DELETE" });
		await events.all();
	});

	test("1.4: a body is read whatever the content type says and whatever follows the first value", async () => {
		const server = await startExecd();
		for (const type of ["text/plain", "application/json", "application/x-www-form-urlencoded"]) {
			const response = await server.request("/command", {
				method: "POST",
				headers: { "content-type": type },
				body: '{"COMMAND":"echo hi","extra":[{}]} trailing }{',
			});
			expect((await new Events(response).all()).stdout).toEqual(["hi"]);
		}
	});
});

describe("a command as large as the kernel accepts", () => {
	test("a command of the kernel's maximum runs, and a larger one is refused by the kernel in the stream", async () => {
		const server = await startExecd();
		const long = "x".repeat(120 * 1024);
		expect((await command(server, `: ${long}; echo done`)).stdout).toEqual(["done"]);
		const envs = Object.fromEntries(Array.from({ length: 14 }, (_, index) => [`V${index}`, long]));
		const script = 'printf %s "$V0$V13" | wc -c';
		expect((await command(server, script, { envs })).stdout).toEqual([String(2 * long.length)]);
		const larger = await command(server, "true", { envs: { V: `${long}${long}` } });
		expect(larger.last).toMatchObject({ type: "error", error: { evalue: expect.stringContaining("E2BIG") } });
	});
});
