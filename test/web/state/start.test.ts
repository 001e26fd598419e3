import { expect, it } from "vitest";
import { emptyForm, programOf, requestOf, restartRequest } from "../../../web/state/start-form.ts";
import { listed } from "../../support/session-info.ts";

it.each([
	["bash", { argv: ["bash"] }],
	["  npm test -- --watch ", { argv: ["npm", "test", "--", "--watch"] }],
	["a | b", { command: "a | b" }],
	["echo $HOME", { command: "echo $HOME" }],
	["X=1 make", { command: "X=1 make" }],
	['echo "a b"', { command: 'echo "a b"' }],
])("%j is a program with arguments, unless it needs a shell", (line, program) => {
	expect(programOf(line)).toEqual(program);
});

it("empty fields are left to the server", () => {
	expect(requestOf({ ...emptyForm, command: "bash" })).toEqual({ argv: ["bash"], mode: "pty" });
});

it("the request contains the fields of the form", () => {
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
	// A session on pipes has no size.
	expect(requestOf({ ...form, mode: "pty" })).toMatchObject({ cols: 120, rows: 40 });
	expect(requestOf({ ...emptyForm, command: "bash", size: "large" })).toEqual({ argv: ["bash"], mode: "pty" });
});

it("running again starts the same program in the same directory and size", () => {
	const session = listed({ name: "web-dev", labels: { kind: "dev" }, task: "t1", timeoutMs: 1000 });
	expect(restartRequest(session)).toEqual({
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
