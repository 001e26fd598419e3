/** Common behavior of all `fs/*` methods (contract §10.2), on a real file system. */

import { describe, expect, test } from "vitest";
import { errorText, fromSystem } from "../../../../src/fronts/dropins/codex-exec/files/errors.ts";
import { RpcError } from "../../../../src/fronts/json-rpc/errors.ts";
import { temporaryDirectory } from "../../../support/temporary.ts";
import { outcome, uriBelow } from "./support/calls.ts";
import { call, notFound } from "./support/file-fixtures.ts";

describe("every method with a path", () => {
	const methods: [string, Record<string, unknown>][] = [
		["fs/readFile", {}],
		["fs/writeFile", { dataBase64: "" }],
		["fs/createDirectory", {}],
		["fs/getMetadata", {}],
		["fs/canonicalize", {}],
		["fs/readDirectory", {}],
		["fs/walk", { options: { maxDepth: 1, maxDirectories: 1, maxEntries: 1, followDirectorySymlinks: false } }],
		["fs/remove", {}],
		["fs/copy", { recursive: true }],
		["fs/open", { handleId: "h" }],
	];
	const about = (name: string, uri: string) =>
		name === "fs/copy" ? { sourcePath: uri, destinationPath: uri } : { path: uri };
	const managed = (file_system: unknown) => ({
		permissions: { type: "managed", file_system, network: "restricted" },
		windowsSandboxLevel: "disabled",
	});
	const root = { type: "special", value: { kind: "root" } };

	test.each(methods)("%s refuses an invalid URI with -32602, and needs only its own members", async (name, rest) => {
		expect(await call(name, { ...rest, ...about(name, "/native") })).toEqual({
			code: -32602,
			message: "invalid URI: relative URL without a base",
		});
		expect(await call(name, rest)).toMatchObject({ code: -32602, message: expect.stringMatching(/^missing field/) });
		expect(await call(name, null)).toMatchObject({ code: -32602 });
	});

	test.each(methods)("%s refuses a path of another operating system with -32600", async (name, rest) => {
		expect(await call(name, { ...rest, ...about(name, "file:///C:/x") })).toEqual({
			code: -32600,
			message: "'file:///C:/x' is invalid on 'linux'",
		});
	});

	test.each(methods)("%s refuses to run without its requested sandbox", async (name, rest) => {
		const entries = [
			{ path: root, access: "read" },
			{ path: { type: "path", path: "file:///w" }, access: "write" },
		];
		const sandbox = managed({ type: "restricted", entries });
		expect(await call(name, { ...rest, ...about(name, "file:///no/such"), sandbox })).toEqual({
			code: -32600,
			message: "sandboxed filesystem operations require configured runtime paths",
		});
	});

	const harmless: [string, unknown][] = [
		["null", null],
		["disabled", { permissions: { type: "disabled" }, windowsSandboxLevel: "disabled" }],
		["external", { permissions: { type: "external", network: "enabled" }, windowsSandboxLevel: "elevated" }],
		["unrestricted", managed({ type: "unrestricted" })],
		["restricted to everything", managed({ type: "restricted", entries: [{ path: root, access: "write" }] })],
	];
	test.each(harmless)("a sandbox that restricts nothing has no effect: %s", async (_, sandbox) => {
		expect(await call("fs/getMetadata", { path: "file:///no/such", sandbox })).toEqual(notFound);
	});

	const exceptions: [string, unknown[]][] = [
		["nothing allowed", []],
		[
			"something denied",
			[
				{ path: root, access: "write" },
				{ path: { type: "glob_pattern", pattern: "*" }, access: "deny" },
			],
		],
		["another special place", [{ path: { type: "special", value: { kind: "tmpdir" } }, access: "write" }]],
	];
	test.each(exceptions)("a sandbox with restrictions is refused: %s", async (_, entries) => {
		const sandbox = managed({ type: "restricted", entries });
		expect(await call("fs/getMetadata", { path: "file:///", sandbox })).toMatchObject({ code: -32600 });
	});

	const malformed: [string, unknown][] = [
		["missing field `windowsSandboxLevel`", { permissions: { type: "disabled" } }],
		["missing field `permissions`", { windowsSandboxLevel: "disabled" }],
		["missing field `entries`", managed({ type: "restricted" })],
		["missing field `file_system`", managed(undefined)],
		[
			"unknown variant `none`, expected one of `managed`, `disabled`, `external`",
			{ permissions: { type: "none" }, windowsSandboxLevel: "disabled" },
		],
	];
	test.each(malformed)("an invalid sandbox is refused: %s", async (message, sandbox) => {
		expect(await call("fs/getMetadata", { path: "file:///", sandbox })).toEqual({ code: -32602, message });
	});

	test("captured request of the real client: metadata of a missing file", async () => {
		const directory = await temporaryDirectory();
		expect(await call("fs/getMetadata", { path: uriBelow(directory, ".git"), sandbox: null })).toEqual(notFound);
	});
});

describe("system errors", () => {
	const failure = (code: string, errno: number) => Object.assign(new Error(`${code}: …`), { code, errno });
	const said: [string, number, number, string][] = [
		["EACCES", -13, -32600, "Permission denied (os error 13)"],
		["EPERM", -1, -32600, "Operation not permitted (os error 1)"],
		["EINVAL", -22, -32600, "Invalid argument (os error 22)"],
		["ENOENT", -2, -32004, "No such file or directory (os error 2)"],
		["EROFS", -30, -32603, "Read-only file system (os error 30)"],
		["ENOSPC", -28, -32603, "No space left on device (os error 28)"],
		["ENOSYS", -38, -32603, "function not implemented (os error 38)"],
		["EWHAT", -999, -32603, "EWHAT (os error 999)"],
	];
	test.each(said)("%s (%i) becomes %i %s", async (name, errno, code, message) => {
		expect(await outcome(() => Promise.reject(fromSystem(failure(name, errno))))).toEqual({ code, message });
		expect(errorText(failure(name, errno))).toBe(message);
	});

	test("an error that is not a system error is passed on", () => {
		const bug = new TypeError("not a function");
		expect(fromSystem(bug)).toBe(bug);
		expect(() => errorText(bug)).toThrow(bug);
		const refusal = new RpcError(-32600, "no");
		expect(fromSystem(refusal)).toBe(refusal);
	});
});
