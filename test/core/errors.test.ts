import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { SessionError } from "../../src/core/errors.ts";

function systemError(code: string, path?: string): Error {
	return Object.assign(new Error(`${code}: something`), { code, syscall: "open", ...(path ? { path } : {}) });
}

test.each([
	["EMFILE", "the server has too many files open (EMFILE)", "ulimit -n"],
	["ENFILE", "the machine has too many files open (ENFILE)", "/proc/sys/fs/file-max"],
	["ENOMEM", "there is not enough memory (ENOMEM)", "end sessions"],
	["ENOSPC", "the server's disk is full (ENOSPC)", "free some space"],
	["EDQUOT", "the server's disk is full (EDQUOT)", "free some space"],
])("%s is reported as a limit, not as an internal error", (code, message, hint) => {
	const error = SessionError.from(systemError(code));
	expect(error).toMatchObject({
		code: "limit_exceeded",
		message,
		hint: expect.stringContaining(hint),
		isForLog: false,
	});
});

test.each([
	["EIO", "the server can't read or write its files at the moment (EIO)"],
	["ESTALE", "the server can't read or write its files at the moment (ESTALE)"],
	["EROFS", "the server's disk is read-only (EROFS)"],
])("%s makes the node unavailable for now, and is logged", (code, message) => {
	const cause = systemError(code);
	const error = SessionError.from(cause);
	expect(error).toMatchObject({ code: "node_unavailable", message, cause, isForLog: true });
	expect(error.hint).toContain("try again");
});

test("an unreachable file makes the node unavailable, with the system's error in the log", async () => {
	const error = SessionError.from(await readFile("/dev/null/file").catch((thrown: unknown) => thrown));
	expect(error).toMatchObject({
		code: "node_unavailable",
		message: "the server can't read or write its files at the moment (ENOTDIR)",
		isForLog: true,
	});
});

test("the same code without a file is an internal error, like every other error", () => {
	for (const thrown of [systemError("EPERM"), systemError("ENOENT", "/a"), new Error("bug"), undefined, "text"]) {
		expect(SessionError.from(thrown)).toMatchObject({ code: "internal", cause: thrown, isForLog: true });
	}
});

test("an error meant for the caller is passed on unchanged and not logged", () => {
	const silent = new SessionError("node_unavailable", "the keeper is silent");
	expect(SessionError.from(silent)).toBe(silent);
	expect(silent.isForLog).toBe(false);
	expect(new SessionError("node_unavailable", "not connected", { cause: silent }).isForLog).toBe(false);
});
