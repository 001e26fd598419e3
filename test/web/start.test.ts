import { expect, it } from "vitest";
import { emptyForm, programOf, requestOf, sameAgain } from "../../web/state/start.ts";
import { listed } from "./listed.ts";

it.each([
	["bash", { argv: ["bash"] }],
	["  npm test -- --watch ", { argv: ["npm", "test", "--", "--watch"] }],
	["a | b", { command: "a | b" }],
	["echo $HOME", { command: "echo $HOME" }],
	["X=1 make", { command: "X=1 make" }],
	['echo "a b"', { command: 'echo "a b"' }],
])("%j is a program and its words, unless only a shell understands it", (line, program) => {
	expect(programOf(line)).toEqual(program);
});

it("what was left empty is left to the server", () => {
	expect(requestOf({ ...emptyForm, command: "bash" })).toEqual({ argv: ["bash"], mode: "pty" });
});

it("what was typed is asked for", () => {
	const form = {
		command: "make all",
		cwd: " /src ",
		name: " build ",
		mode: "pipe",
		workspace: "red",
		sandbox: "read-only",
		env: "A=1\n\nB=x=y\n",
		labels: "kind=ci  host",
		endAfter: "1.5",
		size: "120 x 40",
		keep: "256",
	} as const;
	expect(requestOf(form)).toEqual({
		argv: ["make", "all"],
		cwd: "/src",
		name: "build",
		mode: "pipe",
		workspace: "red",
		sandbox: { type: "readOnly" },
		env: { A: "1", B: "x=y" },
		labels: { kind: "ci", host: "" },
		timeoutMs: 90_000,
		retain: { journalBytes: 256 * 1024 ** 2 },
	});
	// What is on pipes has no size.
	expect(requestOf({ ...form, mode: "pty" })).toMatchObject({ cols: 120, rows: 40 });
	expect(requestOf({ ...emptyForm, command: "bash", size: "large" })).toEqual({ argv: ["bash"], mode: "pty" });
});

it("the same again is the same program, in the same place and of the same size", () => {
	const session = listed({ name: "web-dev", labels: { kind: "dev" }, task: "t1", timeoutMs: 1000 });
	expect(sameAgain(session)).toEqual({
		argv: ["vite", "--host"],
		cwd: "/src/billing",
		mode: "pty",
		cols: 80,
		rows: 24,
		name: "web-dev",
		labels: { kind: "dev" },
		workspace: "default",
		task: "t1",
		durable: true,
		timeoutMs: 1000,
	});
});
