/**
 * Parameters of every wrong type: each is refused with a message, none has an effect, and none is an internal error.
 */

import { describe, expect, it } from "vitest";
import { RpcFailure } from "./support/app-client.ts";
import { startApp } from "./support/app-harness.ts";

/** Complete parameters of each method, for commands that end soon. */
const methods: Record<string, Record<string, unknown>> = {
	"command/exec": {
		command: ["true"],
		processId: "p",
		tty: false,
		streamStdin: false,
		streamStdoutStderr: false,
		outputBytesCap: 10,
		disableOutputCap: false,
		timeoutMs: 1000,
		disableTimeout: false,
		cwd: "/",
		env: { A: "b" },
		size: null,
		sandboxPolicy: { type: "externalSandbox", networkAccess: "enabled" },
	},
	"command/exec/write": { processId: "p", deltaBase64: "eA==", closeStdin: false },
	"command/exec/resize": { processId: "p", size: { rows: 1, cols: 1 } },
	"command/exec/terminate": { processId: "p" },
	"process/spawn": { command: ["true"], processHandle: "h", cwd: "/", env: {}, timeoutMs: 1000, outputBytesCap: 10 },
	"process/writeStdin": { processHandle: "h", deltaBase64: "eA==", closeStdin: true },
	"process/resizePty": { processHandle: "h", size: { rows: 1, cols: 1 } },
	"process/kill": { processHandle: "h" },
};

const values: readonly unknown[] = [
	null,
	true,
	0,
	-1,
	1.5,
	1e300,
	"",
	"\0",
	"x".repeat(5000),
	[],
	[null],
	[[]],
	{},
	{ type: 5 },
	{ rows: -1, cols: "x" },
	{ A: 5 },
	{ __proto__: null, constructor: "x" },
];

let handles = 0;

/** Uses its own handle, since a process that still runs has the previous one. */
function complete(method: string): Record<string, unknown> {
	return { ...methods[method], ...(method === "process/spawn" ? { processHandle: `h${handles++}` } : {}) };
}

describe.each(Object.keys(methods))("invalid parameters of %s", (method) => {
	it("a wrong member is refused with its name", async () => {
		const client = await (await startApp()).client({ experimentalApi: true });
		const known = new Set([-32600, -32602, -32603]);
		for (const name of Object.keys(complete(method))) {
			for (const value of values) {
				const answer = await client
					.request(method, { ...complete(method), [name]: value })
					.catch((error: unknown) => error);
				if (!(answer instanceof RpcFailure)) continue;
				expect(known).toContain(answer.code);
				expect(answer.message).not.toContain("internal error");
				expect(answer.message.length).toBeLessThan(6000);
			}
			const { [name]: _, ...without } = complete(method);
			await client.request(method, without).catch((error: unknown) => expect(error).toBeInstanceOf(RpcFailure));
		}
		for (const params of [5, "x", [], true])
			await expect(client.request(method, params)).rejects.toMatchObject({ code: -32600 });
	});
});

it("error messages for wrong members equal the real server's", async () => {
	const client = await (await startApp()).client();
	const faults: [object, string][] = [
		[{ command: undefined }, "missing field `command`"],
		[{ command: "ls" }, 'invalid type: string "ls", expected a sequence'],
		[{ command: [5] }, "invalid type: integer `5`, expected a string"],
		[{ tty: null }, "invalid type: null, expected a boolean"],
		[{ timeoutMs: 1.5 }, "invalid type: floating point `1.5`, expected i64"],
		[{ outputBytesCap: 1.5 }, "invalid type: floating point `1.5`, expected usize"],
		[{ outputBytesCap: -1 }, "invalid value: integer `-1`, expected usize"],
		[{ size: { rows: 65_536, cols: 1 } }, "invalid value: integer `65536`, expected u16"],
		[{ size: { rows: 1.5, cols: 1 } }, "invalid type: floating point `1.5`, expected u16"],
		[{ cwd: 5 }, "invalid type: integer `5`, expected path string"],
		[{ env: [] }, "invalid type: sequence, expected a map"],
		[
			{ sandboxPolicy: { type: "nope" } },
			"unknown variant `nope`, expected one of `dangerFullAccess`, `readOnly`, `externalSandbox`, `workspaceWrite`",
		],
		[{ sandboxPolicy: {} }, "missing field `type`"],
		[
			{ sandboxPolicy: { type: "workspaceWrite", writableRoots: ["rel/path"] } },
			"AbsolutePathBuf deserialized without a base path",
		],
		[
			{ sandboxPolicy: { type: "readOnly", access: { type: "restricted" } } },
			"readOnly.access is no longer supported; use permissionProfile for restricted reads",
		],
		[
			{ sandboxPolicy: { type: "workspaceWrite", readOnlyAccess: { type: "restricted" } } },
			"workspaceWrite.readOnlyAccess is no longer supported; use permissionProfile for restricted reads",
		],
		[
			{ sandboxPolicy: { type: "readOnly", networkAccess: "enabled" } },
			'invalid type: string "enabled", expected a boolean',
		],
	];
	for (const [fault, text] of faults)
		await expect(client.request("command/exec", { command: ["true"], ...fault })).rejects.toEqual(
			new RpcFailure(-32600, `Invalid request: ${text}`),
		);
	await expect(client.request("command/exec")).rejects.toThrow("Invalid request: missing field `params`");
});
