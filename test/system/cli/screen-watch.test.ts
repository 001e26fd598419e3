import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { Terminal } from "../../support/cli-terminal.ts";
import { result, TestHawser } from "../../support/hawser-command.ts";
import { temporaryDirectory } from "../../support/temporary.ts";

let hawser: TestHawser;
beforeAll(async () => {
	hawser = await TestHawser.create();
});
afterAll(() => hawser.remove());

const DRAW = 'stty -echo; printf "\\033[31mready"; while read -r line; do printf "\\033[2J\\033[H%s" "$line"; done';
const start = (name: string) => hawser.run(["run", "--detach", "--name", name, "--", "sh", "-c", DRAW]);

it("screen prints a session's screen, saves it as an image, and waits for text", async () => {
	await start("work");
	expect(await hawser.run(["wait", "work", "--screen", "ready", "--timeout", "20s"])).toMatchObject({ code: 0 });
	expect((await hawser.run(["screen", "work"])).stdout).toBe("ready\n");
	expect((await hawser.run(["screen", "--color", "work"])).stdout).toBe("\x1b[38;5;1mready\x1b[0m\n");
	const folder = await temporaryDirectory();
	for (const format of ["svg", "html"]) {
		const file = join(folder, `work.${format}`);
		expect(await hawser.run(["screen", `--${format}`, file, "work"])).toEqual({ code: 0, stdout: "", stderr: "" });
		expect(await readFile(file, "utf8")).toContain("ready</");
	}
	const found = result(hawser.start(["wait", "work", "--json", "-E", "--screen", "^n[ae]xt \\d$", "--rows", "0-2"]));
	await hawser.run(["send", "work", "next 1", "--enter"]);
	expect(JSON.parse((await found).stdout)).toMatchObject({ kind: "screen" });
	expect(await hawser.run(["wait", "work", "--stable", "50ms", "--timeout", "20s"])).toMatchObject({ code: 0 });
	expect(await hawser.run(["wait", "work", "--screen", "never", "--timeout", "50ms"])).toMatchObject({
		code: 2,
		stderr: expect.stringContaining("did not show the text"),
	});
	await hawser.run(["kill", "work"]);
	expect(await hawser.run(["wait", "work", "--screen", "never"])).toMatchObject({ code: 3 });
	expect((await hawser.run(["screen", "--above", "5", "work"])).stdout).toBe("");
});

it("screen --watch redraws on every change, and restores the terminal", async () => {
	await start("watched");
	await hawser.run(["wait", "watched", "--screen", "ready"]);
	const terminal = await Terminal.start(hawser, ["screen", "--watch", "--color", "watched"], {
		before: "trap : INT",
	});
	await terminal.shows("\x1b[1;1H\x1b[2K\x1b[38;5;1mready");
	await hawser.run(["send", "watched", "second", "--enter"]);
	await terminal.shows("msecond");
	await terminal.type("\x03");
	expect(await terminal.ended()).toEqual({ code: 130, isRestored: true });
	expect(terminal.output.split("\x1b[?1049h")[1]).toContain("\x1b[?1049l");
	const lines = result(hawser.start(["screen", "--watch", "--json", "watched"]));
	await hawser.run(["kill", "watched"]);
	const shown = (await lines).stdout.trimEnd().split("\n");
	expect(JSON.parse(shown.at(-1) ?? "")).toMatchObject({ lines: ["second"] });
});

it("screen refuses flags that exclude each other", async () => {
	for (const args of [
		["screen", "--json", "--svg", "x.svg"],
		["screen", "--watch"],
		["screen", "--watch", "--json", "--at", "5"],
		["wait", "--stable", "1s", "--exit"],
		["wait", "-E"],
		["wait", "--rows", "3"],
		["wait", "--screen", "x", "--rows", "3-1"],
	]) {
		expect((await hawser.run(args)).code).toBeGreaterThan(0);
	}
});
