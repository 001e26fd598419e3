import { spawn } from "node:child_process";
import { mkdir, readdir, symlink } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { main, type Result, result, TestHawser } from "../../support/hawser-command.ts";
import { temporaryDirectory } from "../../support/temporary.ts";

const HARNESS = fileURLToPath(new URL("../../fixtures/tmux-harness.sh", import.meta.url));

const SOON = { timeout: 10_000 };

let hawser: TestHawser;
beforeAll(async () => {
	hawser = await TestHawser.create();
});
afterAll(() => hawser.remove());

const tmux = (...words: string[]): Promise<Result> => hawser.run(["tmux", ...words]);

/** Runs the harness with a link to hawser named tmux, or with the real tmux. */
async function harness({ isReal }: { isReal: boolean }): Promise<Map<string, string>> {
	const work = await temporaryDirectory();
	const bin = join(work, "bin");
	await mkdir(bin);
	if (!isReal) await symlink(main, join(bin, "tmux"));
	const env = {
		PATH: `${bin}:${process.env.PATH}`,
		HOME: work,
		TERM: "xterm-256color",
		SHELL: "/bin/sh",
		HAWSER_STATE_DIR: hawser.stateDir,
	};
	const child = spawn(HARNESS, [join(work, "socket"), work], { cwd: work, env, stdio: ["ignore", "pipe", "pipe"] });
	const { stdout, code, stderr } = await result(child);
	expect({ code, stderr: isReal ? "" : stderr }).toEqual({ code: 0, stderr: "" });
	return new Map(
		stdout.split(/^--- /m).map((part) => [part.split("\n", 1)[0] ?? "", part.slice(part.indexOf("\n") + 1)]),
	);
}

it("a harness script for tmux runs unchanged with hawser and gets the same output", {
	timeout: 60_000,
}, async () => {
	const ours = await harness({ isReal: false });
	const theirs = await harness({ isReal: true });
	// tmux accepts no key of this length.
	expect(ours.get("file")).toBe("same\n");
	ours.delete("file");
	theirs.delete("file");
	expect(Object.fromEntries(ours)).toEqual(Object.fromEntries(theirs));
	expect(ours.get("everything")).toMatch(/^row 1\nrow 2\n/);
});

/** Shows each byte that it reads, on a terminal that neither edits nor echoes; with these modes. */
const shownBytes = (modes: string) => `stty raw -echo; printf '${modes}ready\\r\\n'; head -c 4 >/dev/null; cat -v`;

it.each([
	["enabled bracketed paste", "\\033[?2004h", "^[[200~2^M3^[[201~"],
	["did not enable bracketed paste", "", "2^M3"],
])("paste-buffer -p and send --paste work in a program that %s", async (_, modes, expected) => {
	await tmux("new-session", "-d", "-s", "paste", shownBytes(modes));
	const shown = async () => (await tmux("capture-pane", "-p", "-t", "paste")).stdout;
	await expect.poll(shown, SOON).toMatch(/ready/);
	await tmux("send-keys", "-t", "paste", "-l", "1234");
	await tmux("set-buffer", "2\n3");
	expect(await tmux("paste-buffer", "-d", "-p", "-t", "paste")).toMatchObject({ code: 0, stderr: "" });
	await expect.poll(shown, SOON).toContain(expected);
	expect(await hawser.run(["send", "paste", "--paste", "2\n3"])).toMatchObject({ code: 0, stderr: "" });
	await expect.poll(shown, SOON).toContain(expected + expected);
	await tmux("kill-session", "-t", "paste");
});

describe("hawser tmux", () => {
	it("hawser tmux keeps sessions of different sockets apart under equal names", async () => {
		for (const socket of ["one", "two"])
			await tmux("-L", socket, "new-session", "-d", "-s", "same", `echo ${socket}; cat`);
		const shown = () => tmux("-L", "two", "capture-pane", "-p", "-t", "same");
		await expect.poll(shown, SOON).toMatchObject({ code: 0, stderr: "", stdout: expect.stringMatching(/^two\n/) });
		await tmux("-L", "one", "kill-server");
		expect((await tmux("-L", "one", "has-session", "-t", "same")).code).toBe(1);
		expect((await tmux("-L", "two", "has-session", "-t", "=same:0.0")).code).toBe(0);
		expect((await tmux("-L", "two", "new-session", "-d", "-s", "same")).stderr).toContain("duplicate session: same");
		const running = async () => (await tmux("-L", "two", "list-panes", "-F", "#{pane_current_command} ##{x}")).stdout;
		await expect.poll(running, SOON).toBe("cat #{x}\n");
	});

	it("hawser tmux types words that are no key names, and presses those that are", async () => {
		await tmux("new-session", "-d", "-s", "keys", "-x", "60", "cat -v");
		await tmux(
			"send-keys",
			"-t",
			"keys",
			"return",
			"Space",
			"esc",
			"Escape",
			"M-x",
			"Up",
			"0x41",
			"C-v",
			"^B",
			"a;b\\;",
			"Enter",
		);
		const shown = async () => (await tmux("capture-pane", "-p", "-t", "keys")).stdout.split("\n")[0];
		await expect.poll(shown, SOON).toBe("return esc^[^[x^[[AA^Ba;b;");
		await tmux("kill-session", "-t", "keys");
	});

	it("hawser tmux wait-for keeps a signal for a later waiter, wakes all waiters, and skips killed ones", async () => {
		expect((await tmux("wait-for", "-S", "early")).code).toBe(0);
		expect((await tmux("wait-for", "early")).code).toBe(0);
		const killed = hawser.start(["tmux", "wait-for", "late"]);
		const waiters = [1, 2].map(() => tmux("wait-for", "late"));
		const folder = join(hawser.stateDir, "tmux");
		const sockets = async () => {
			const folders = await readdir(folder);
			return (await Promise.all(folders.map((name) => readdir(join(folder, name))))).flat().length;
		};
		await expect.poll(sockets, SOON).toBe(3);
		killed.kill("SIGKILL");
		await result(killed);
		await tmux("wait-for", "-S", "late");
		for (const waiter of await Promise.all(waiters)) expect(waiter.code).toBe(0);
		expect(await sockets()).toBe(0);
	});

	it("hawser tmux reports what does not exist and exits with 1", async () => {
		expect(await tmux("has-session", "-t", "unknown")).toMatchObject({ code: 1 });
		expect((await tmux("split-window")).stderr).toBe("hawser: unknown command: split-window\n");
		expect((await tmux("send-keys", "-y")).stderr).toBe("hawser: send-keys: unknown flag -y\n");
		expect((await tmux("-V")).stdout).toMatch(/^tmux \d/);
	});
});
