import { execFileSync } from "node:child_process";
import { expect, it } from "vitest";
import { commandText, endLabel } from "../../../src/client/index.ts";
import { whereAndWhat } from "../../../web/views/session-title.ts";
import { formatDuration, formatLongDuration, longEnd, nameOf, size } from "../../../web/views/text.ts";
import { listed } from "../../support/session-info.ts";

it.each([
	[0, "0 s", "0 s"],
	[59_999, "59 s", "59 s"],
	[252_000, "4 min", "4 min 12 s"],
	[3_600_000, "1 h", "1 h"],
	[90_061_000, "1 d", "1 d 1 h"],
	[-5, "0 s", "0 s"],
])("%d ms are formatted in one unit, and in two", (ms, short, exact) => {
	expect([formatDuration(ms), formatLongDuration(ms)]).toEqual([short, exact]);
});

it.each([
	[999, "999 B"],
	[2_100_000, "2.10 MB"],
	[34_400_000_000, "34.4 GB"],
	[512_000, "512 kB"],
])("%d bytes are formatted in the largest unit", (bytes, text) => {
	expect(size(bytes)).toBe(text);
});

it("an end has a short label and a long text", () => {
	const at = new Date(2026, 0, 5, 13, 31, 7).getTime();
	const ended = (exit: NonNullable<ReturnType<typeof listed>["exit"]>) =>
		listed({
			state: "closed",
			exit,
			createdAt: at - 252_000,
			endedAt: at,
			timeoutMs: 1_800_000,
			idleTimeoutMs: 3_600_000,
		});
	const told = (exit: NonNullable<ReturnType<typeof listed>["exit"]>) => [
		endLabel(ended(exit)),
		longEnd(ended(exit)).join(" "),
	];
	expect(told({ code: 1, signal: null })).toEqual(["exit 1", "Ended with exit code 1 after 4 min 12 s, at 13:31"]);
	expect(told({ code: null, signal: "SIGKILL" })).toEqual(["SIGKILL", "Killed by SIGKILL after 4 min 12 s, at 13:31"]);
	expect(told({ code: null, signal: "SIGTERM", reason: "killed", by: "ci" })).toEqual([
		"killed",
		"Killed by ci with everything it started, at 13:31",
	]);
	expect(told({ code: null, signal: "SIGTERM", reason: "timeout" })[1]).toMatch(/^Timed out after 30 min /);
	expect(told({ code: null, signal: "SIGTERM", reason: "idle" })[1]).toMatch(/^Idle timeout after 1 h /);
	expect(told({ code: null, signal: "SIGKILL", reason: "oom" })[0]).toBe("out of memory");
	expect(longEnd(listed({ state: "lost", endedAt: at })).join(" ")).toBe(
		"Lost. The machine stopped while it was running; the exit status is unknown. Output is available up to 13:31:07.",
	);
});

it("a session's display name is its name, or its program", () => {
	expect(nameOf({ name: null, argv: ["/usr/bin/python3", "-i"] })).toBe("python3");
	expect(nameOf({ name: "repl", argv: ["python3"] })).toBe("repl");
});

it("a command is quoted so that a shell reads the same words", () => {
	expect(commandText(["/bin/sh", "-c", "a | b"])).toBe("a | b");
	expect(commandText(["agent", "fix it", "--now"])).toBe("agent 'fix it' --now");
	const argv = ["printf", "%s\\n", "i=$((i+1)); `id`", 'it\'s "so"', "", "a*", "~", "#", "plain-1.2"];
	const said = execFileSync("/bin/sh", ["-c", commandText(argv)], { encoding: "utf8" });
	expect(said.split("\n").slice(0, -1)).toEqual(argv.slice(2));
});

it("a header shows directory and activity once, with the program's title", () => {
	const session = { cwd: "/src/billing", argv: ["bash", "-l"] };
	expect(whereAndWhat(session, "")).toEqual({ place: "/src/billing", program: "bash -l" });
	expect(whereAndWhat(session, "ada@host: ~/src/hawser")).toEqual({ place: "~/src/hawser", program: "bash -l" });
	expect(whereAndWhat(session, "vim tax.ts")).toEqual({ place: "/src/billing", program: "vim tax.ts" });
	expect(whereAndWhat(session, "tax.ts (~/src/billing) - VIM")).toEqual({
		place: undefined,
		program: "tax.ts (~/src/billing) - VIM",
	});
});
