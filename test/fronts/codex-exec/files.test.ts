/** What all `fs/*` methods have in common (contract §10.2), on a real file system. */

import { describe, expect, test } from "vitest";
import { errorText, fromSystem } from "../../../src/fronts/codex-exec/files/errors.ts";
import { RpcError } from "../../../src/fronts/json-rpc/error.ts";
import { temporaryDirectory } from "../../helpers/temporary.ts";
import { outcome, uriBelow } from "./calls.ts";
import { call, notFound } from "./file-fixtures.ts";

describe("every method about a path", () => {
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

	test.each(methods)(
		"%s refuses with -32602 what is no URI, and does not need more than its members",
		async (name, rest) => {
			expect(await call(name, { ...rest, ...about(name, "/native") })).toEqual({
				code: -32602,
				message: "invalid URI: relative URL without a base",
			});
			expect(await call(name, rest)).toMatchObject({ code: -32602, message: expect.stringMatching(/^missing field/) });
			expect(await call(name, null)).toMatchObject({ code: -32602 });
		},
	);

	test.each(methods)("%s refuses with -32600 the path of another kind of host", async (name, rest) => {
		expect(await call(name, { ...rest, ...about(name, "file:///C:/x") })).toEqual({
			code: -32600,
			message: "'file:///C:/x' is invalid on 'linux'",
		});
	});

	test.each(methods)("%s refuses to run without the sandbox it was to run in", async (name, rest) => {
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
	test.each(harmless)("a sandbox that restricts nothing changes nothing: %s", async (_, sandbox) => {
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
	test.each(exceptions)("a sandbox that restricts anything is refused: %s", async (_, entries) => {
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
	test.each(malformed)("a sandbox that is not understood is refused: %s", async (message, sandbox) => {
		expect(await call("fs/getMetadata", { path: "file:///", sandbox })).toEqual({ code: -32602, message });
	});

	test("captured request of the real client: metadata of what is not there", async () => {
		const directory = await temporaryDirectory();
		expect(await call("fs/getMetadata", { path: uriBelow(directory, ".git"), sandbox: null })).toEqual(notFound);
	});
});

describe("errors of the kernel", () => {
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
	test.each(said)("%s (%i) is %i %s", async (name, errno, code, message) => {
		expect(await outcome(() => Promise.reject(fromSystem(failure(name, errno))))).toEqual({ code, message });
		expect(errorText(failure(name, errno))).toBe(message);
	});

	test("what is no error of the kernel is left as it is", () => {
		const bug = new TypeError("not a function");
		expect(fromSystem(bug)).toBe(bug);
		expect(() => errorText(bug)).toThrow(bug);
		const refusal = new RpcError(-32600, "no");
		expect(fromSystem(refusal)).toBe(refusal);
	});
});
