/** `/session`: the state that passes from one run to the next, and the state that does not. */

import { mkdir, readdir, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, onTestFinished, test } from "vitest";
import { eventually } from "../../../support/reading.ts";
import { temporaryDirectory } from "../../../support/temporary.ts";
import { createSession, refusalOf, run } from "./support/events.ts";
import { type ExecdServer, startExecd, untilItComes } from "./support/execd-server.ts";

/** Runs the texts one after the other in a new session. Returns the output of each. */
async function runs(server: ExecdServer, ...lines: string[]): Promise<string[][]> {
	const session = await createSession(server);
	const printed: string[][] = [];
	for (const line of lines) printed.push((await run(server, session, line)).stdout);
	return printed;
}

test("a text of several MiB is run, as in the original", async () => {
	const server = await startExecd();
	const session = await createSession(server);
	const text = `: '${"x".repeat(3 * 1024 * 1024)}'\necho done`;
	expect((await run(server, session, text)).stdout).toEqual(["done"]);
});

describe("persistent state", () => {
	test("6.4: env persists over three runs, with init and complete once per run and the session's id", async () => {
		const server = await startExecd();
		const session = await createSession(server);
		expect(session).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
		for (const [line, printed] of [
			["export FOO=hello", []],
			["echo $FOO; export FOO=bye BAR=2", ["hello"]],
			["echo $FOO $BAR; false; echo EXIT:$?", ["bye 2", "EXIT:1"]],
		] as const) {
			const stream = await run(server, session, line);
			expect(stream.stdout).toEqual(printed);
			expect(stream.types.filter((type) => type === "init")).toHaveLength(1);
			expect(stream.types.filter((type) => type === "execution_complete")).toHaveLength(1);
			expect(stream.id).toBe(session);
		}
	});

	test("6.4: cd persists, and a request's cwd overrides it and stays", async () => {
		const server = await startExecd();
		const first = await temporaryDirectory();
		const other = await temporaryDirectory();
		const session = await createSession(server, { cwd: first });
		expect((await run(server, session, "pwd")).stdout).toEqual([first]);
		await run(server, session, "mkdir -p sub && cd sub");
		expect((await run(server, session, "pwd")).stdout).toEqual([`${first}/sub`]);
		expect((await run(server, session, "pwd", { cwd: other })).stdout).toEqual([other]);
		expect((await run(server, session, "pwd; cd /usr")).stdout).toEqual([other]);
		expect((await run(server, session, "pwd; cd - >/dev/null; pwd")).stdout).toEqual(["/usr", other]);
	});

	test("I-10: the process itself starts in the directory, not only its shell", async () => {
		const server = await startExecd();
		const directory = await temporaryDirectory();
		const session = await createSession(server, { cwd: directory });
		expect((await run(server, session, "readlink /proc/$$/cwd")).stdout).toEqual([directory]);
	});

	test("a path into a directory through a link is kept", async () => {
		const server = await startExecd();
		const directory = await temporaryDirectory();
		await mkdir(join(directory, "real"));
		await symlink("real", join(directory, "link"));
		const session = await createSession(server, { cwd: directory });
		await run(server, session, "cd link");
		expect((await run(server, session, "pwd; pwd -P")).stdout).toEqual([`${directory}/link`, `${directory}/real`]);
	});

	test("values with $, backticks, quotes, newlines and control characters survive any number of runs exactly", async () => {
		const server = await startExecd();
		const values = [
			"a$b",
			"`date`",
			"a\\$b\\\\",
			`'"'"'`,
			"line\nline\n\n",
			"\x01\x1b[0m\x7f\t",
			"€😀",
			"",
			" x ",
			"$'x'",
			"-n",
			"%s\\0",
		];
		const session = await createSession(server);
		const quoted = values.map((value, i) => `export V${i}='${value.replaceAll("'", `'\\''`)}'`);
		await run(server, session, quoted.join("\n"));
		for (let i = 0; i < 3; i++) await run(server, session, "true");
		const file = join(await temporaryDirectory(), "values");
		await run(server, session, `printf '%s\\0' ${values.map((_, i) => `"$V${i}"`).join(" ")} > ${file}`);
		expect((await readFile(file, "utf8")).split("\0")).toEqual([...values, ""]);
	});

	test("any value survives, run after run", async () => {
		const server = await startExecd();
		const session = await createSession(server);
		const file = join(await temporaryDirectory(), "values");
		const value = fc.string({ unit: "binary", maxLength: 40 }).filter((text) => !text.includes("\0"));
		await fc.assert(
			fc.asyncProperty(fc.array(value, { minLength: 1, maxLength: 20 }), async (values) => {
				const quoted = values.map((text, i) => `export W${i}='${text.replaceAll("'", `'\\''`)}'`);
				await run(server, session, quoted.join("\n"));
				await run(server, session, "true");
				await run(server, session, `printf '%s\\0' ${values.map((_, i) => `"$W${i}"`).join(" ")} > ${file}`);
				expect((await readFile(file, "utf8")).split("\0")).toEqual([...values, ""]);
			}),
			{ numRuns: 15 },
		);
	});

	test("unset persists, except for the daemon's variables", async () => {
		const environment = () => ({ PATH: process.env.PATH ?? "", OURS: "daemon" });
		const server = await startExecd({ environment });
		const printed = await runs(
			server,
			"export MINE=1",
			"echo $MINE $OURS; unset MINE OURS",
			`echo \${MINE-none} \${OURS-none}`,
		);
		expect(printed).toEqual([[], ["1 daemon"], ["none daemon"]]);
	});

	test("PS1 to PS4, PROMPT_COMMAND and values over 8 KiB do not persist, and SHLVL does not grow", async () => {
		const server = await startExecd({ environment: () => ({ PATH: process.env.PATH ?? "" }) });
		const [, second, , fourth] = await runs(
			server,
			"export PS1=a PS2=b PS3=c PS4=d PROMPT_COMMAND=e LONG=$(printf %8193s x) FITS=$(printf %8192s x)",
			`echo \${PS1-1} \${PS2-2} \${PS3-3} \${PROMPT_COMMAND-none} \${LONG-none} \${#FITS}; set -x; true`,
			"true",
			"echo $SHLVL",
		);
		expect(second?.[0]).toBe("1 2 3 none none 8192");
		expect(second?.[1]).toBe("+ true");
		expect(fourth).toEqual(["1"]);
	});

	test("shell variables, functions, aliases, options, umask and traps do not persist", async () => {
		const server = await startExecd();
		const [, second] = await runs(
			server,
			"plain=1; f() { :; }; export -f f; shopt -s expand_aliases nullglob; alias x=y; set -f -u; umask 077; trap 'echo bye' EXIT; trap 'echo err' ERR",
			`echo \${plain-none}; type -t f; alias; shopt -q nullglob || echo no; case $- in *[fu]*) echo $-;; esac; umask; trap -p`,
		);
		expect(second).toEqual(["none", "no", process.umask().toString(8).padStart(4, "0")]);
	});
});

describe("a run that ends its shell", () => {
	test("6.4: a non-zero exit sends output before it, CommandExecError 7 and no complete, and the session is usable", async () => {
		const server = await startExecd();
		const session = await createSession(server);
		await run(server, session, "export A=kept; cd /usr");
		const stream = await run(server, session, "echo before; export A=lost; cd /; exit 7");
		expect(stream.types).toEqual(["init", "stdout", "error"]);
		expect(stream.last?.error).toEqual({ ename: "CommandExecError", evalue: "7", traceback: ["exit status 7"] });
		expect((await run(server, session, "echo $A; pwd")).stdout).toEqual(["kept", "/usr"]);
	});

	test("the status of the last command is the run's, and changes persist then", async () => {
		const server = await startExecd();
		const session = await createSession(server);
		const stream = await run(server, session, "export A=kept; (exit 9)");
		expect(stream.exitCode).toBe(9);
		expect((await run(server, session, "echo $A")).stdout).toEqual(["kept"]);
	});

	test("6.4: exec replaces the shell, and the session is usable afterwards", async () => {
		const server = await startExecd();
		const session = await createSession(server);
		const script = join(await temporaryDirectory(), "script");
		await writeFile(script, "#!/bin/sh\necho replaced\nexit 4\n", { mode: 0o755 });
		const stream = await run(server, session, `exec ${script}`);
		expect([stream.stdout, stream.exitCode]).toEqual([["replaced"], 4]);
		expect((await run(server, session, "echo on")).stdout).toEqual(["on"]);
	});

	test("set -e ends the run at the first failure", async () => {
		const server = await startExecd();
		const session = await createSession(server);
		const stream = await run(server, session, "set -e; echo one; false; echo two");
		expect([stream.stdout, stream.exitCode]).toEqual([["one"], 1]);
		expect((await run(server, session, "set -e; export B=1; true")).exitCode).toBe(0);
		expect((await run(server, session, "echo $B")).stdout).toEqual(["1"]);
	});

	test("a trap on EXIT runs once, and its output is sent", async () => {
		const server = await startExecd();
		const session = await createSession(server);
		const stream = await run(server, session, "trap 'echo bye' EXIT; trap 'echo dbg >&2' DEBUG; export C=1; (exit 5)");
		expect(stream.stdout.at(-1)).toBe("bye");
		expect(stream.stdout.filter((line) => line === "bye")).toHaveLength(1);
		expect(stream.exitCode).toBe(5);
		expect((await run(server, session, "echo $C")).stdout).toEqual(["1"]);
	});
});

describe("output", () => {
	test("6.4: output without a final newline gives exactly one line, and nothing of the state", async () => {
		const server = await startExecd();
		const [first] = await runs(server, `printf '{"foo":1}'`);
		expect(first).toEqual(['{"foo":1}']);
	});

	test("6.4: a run without output sends none", async () => {
		const server = await startExecd();
		expect(await runs(server, "true", "x=1", ":")).toEqual([[], [], []]);
	});

	test("3.5: empty lines are not sent, one trailing return is removed, stderr is interleaved in order", async () => {
		const server = await startExecd();
		const session = await createSession(server);
		const stream = await run(server, session, "printf 'a\\n\\nb\\r\\n\\r\\n'; echo err >&2; echo c; nosuchprogram_");
		expect(stream.stdout.slice(0, 4)).toEqual(["a", "b", "err", "c"]);
		expect(stream.stdout[4]).toContain("nosuchprogram_: command not found");
		expect(stream.stderr).toEqual([]);
		expect(stream.exitCode).toBe(127);
	});

	test("6.4: 60 lines with chained changes run", async () => {
		const server = await startExecd();
		const text = Array.from({ length: 60 }, (_, i) => `export N=$((\${N:-0} + 1)); echo line ${i}: $N`).join("\n");
		const [first, second] = await runs(server, text, "echo $N");
		expect(first).toEqual(Array.from({ length: 60 }, (_, i) => `line ${i}: ${i + 1}`));
		expect(second).toEqual(["60"]);
	});

	test("6.4: heredoc and set -x work, and nothing of the server's is traced", async () => {
		const server = await startExecd();
		const session = await createSession(server);
		const stream = await run(server, session, "set -x\ncat <<'EOF'\nfirst $x\nsecond\nEOF\nexport T=1");
		expect(stream.stdout).toEqual(["+ cat", "first $x", "second", "+ export T=1", "+ T=1"]);
		expect((await run(server, session, "cat <<EOF\n$T\nEOF")).stdout).toEqual(["1"]);
	});

	test("6.4: exec redirections through tee send their output, lose the state, and keep the session", async () => {
		const server = await startExecd({ times: untilItComes });
		const file = join(await temporaryDirectory(), "log");
		const session = await createSession(server);
		const stream = await run(server, session, `exec > >(tee ${file}) 2>&1; echo through; export R=1`);
		expect(stream.stdout).toEqual(["through"]);
		expect((await run(server, session, `echo $R; cat ${file}`)).stdout).toEqual(["1", "through"]);
		expect((await run(server, session, `exec >&- 2>&-; export R=2`)).exitCode).toBe(0);
		expect((await run(server, session, "echo $R")).stdout).toEqual(["2"]);
	});

	test("I-25: no printed line can disturb the session", async () => {
		const server = await startExecd();
		const printed = ["__STATE__", "EXIT:5", "\\0FOO\\0bar\\0", "declare -x FOO=forged", "hawser_status=7"];
		const session = await createSession(server);
		const stream = await run(server, session, printed.map((line) => `printf '%s\\n' '${line}'`).join("\n"));
		expect(stream.stdout).toEqual(printed);
		expect(stream.exitCode).toBe(0);
		expect((await run(server, session, `echo \${FOO-none}`)).stdout).toEqual(["none"]);
	});

	test("a text may end with a backslash, in a comment, or with an open quote", async () => {
		const server = await startExecd();
		const session = await createSession(server);
		expect((await run(server, session, "echo a \\")).stdout).toEqual(["a"]);
		expect((await run(server, session, "export Q=1 # why")).stdout).toEqual([]);
		const open = await run(server, session, "echo 'open");
		expect(open.exitCode).toBe(2);
		expect(open.stdout.join()).not.toContain("builtin");
		expect((await run(server, session, "echo $Q")).stdout).toEqual(["1"]);
	});

	test("the state is read whatever the text did to its shell: IFS, noclobber, nounset, umask, functions", async () => {
		const server = await startExecd();
		const session = await createSession(server);
		const awkward =
			"set -Cufo pipefail; umask 777; IFS=E; printf() { :; }; pwd() { :; }; read() { :; }; exit() { :; }; shopt -s lastpipe";
		await run(server, session, `${awkward}; cd /usr; export NAME=value`);
		expect((await run(server, session, "echo $NAME; pwd")).stdout).toEqual(["value", "/usr"]);
	});
});

describe("directories and files", () => {
	test("3.5: a missing session directory is reported, and the run uses the daemon's", async () => {
		const home = await temporaryDirectory();
		const server = await startExecd({ cwd: home });
		const session = await createSession(server, { cwd: "gone" });
		await rm(join(home, "gone"), { recursive: true });
		const stream = await run(server, session, "pwd");
		expect(stream.stdout[0]).toMatch(/cd: .*gone: No such file or directory/);
		expect(stream.stdout[1]).toBe(home);
		expect((await run(server, session, "pwd")).stdout).toEqual([home]);
	});

	test("3.1, 1.9, I-45: a session's directory is created; an impossible one is a single 500, an invalid body 400", async () => {
		const home = await temporaryDirectory();
		const server = await startExecd({ cwd: home, environment: () => ({ PATH: process.env.PATH ?? "", HOME: home }) });
		const session = await createSession(server, { cwd: "~/new/deep" });
		expect((await run(server, session, "pwd")).stdout).toEqual([`${home}/new/deep`]);
		await writeFile(join(home, "file"), "");
		for (const cwd of ["file", "$NOT_DEFINED"])
			expect((await refusalOf(server.post("/session", { cwd }))).slice(0, 2)).toEqual([500, "RUNTIME_ERROR"]);
		const bad = server.request("/session", { method: "POST", body: "{" });
		expect((await refusalOf(bad)).slice(0, 2)).toEqual([400, "INVALID_REQUEST_BODY"]);
		for (const body of ["", "null", "{}"])
			expect((await server.request("/session", { method: "POST", body })).status).toBe(200);
	});

	test("I-11: the script and the state are removed, in a temporary directory that only the server can read", async () => {
		const server = await startExecd();
		const session = await createSession(server);
		const { stdout } = await run(server, session, 'd=$(dirname "$0"); stat -c %a "$d"; echo "$d"');
		expect(stdout[0]).toBe("700");
		expect(stdout[1]?.startsWith(tmpdir())).toBe(true);
		await expect(stat(stdout[1] ?? "")).rejects.toMatchObject({ code: "ENOENT" });
	});

	test("6.5: a removed temporary directory is created again", async () => {
		const server = await startExecd();
		const session = await createSession(server);
		const before = process.env.TMPDIR;
		onTestFinished(() => {
			if (before === undefined) delete process.env.TMPDIR;
			else process.env.TMPDIR = before;
		});
		process.env.TMPDIR = join(await temporaryDirectory(), "removed");
		expect((await run(server, session, "echo on")).stdout).toEqual(["on"]);
		expect(await readdir(process.env.TMPDIR)).toEqual([]);
	});

	test("I-11: descriptors do not leak, run after run", async () => {
		const server = await startExecd();
		const session = await createSession(server);
		const count = async () => (await readdir("/proc/self/fd")).length;
		await run(server, session, "echo warm");
		const before = await count();
		for (let i = 0; i < 10; i++) await run(server, session, `echo ${i}`);
		// One is open until the process that watched over a run has exited, which is not waited for.
		await eventually("as many descriptors as before", async () => (await count()) <= before + 2);
	});
});
