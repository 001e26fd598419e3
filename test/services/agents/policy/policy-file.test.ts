/** The operator's file of policies for permission dialogs. */

import { chmod, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { readAgentPolicies } from "../../../../src/services/agents/policy/policy-file.ts";
import { temporaryDirectory } from "../../../support/temporary.ts";

async function fileOf(content: unknown, mode = 0o600): Promise<string> {
	const path = join(await temporaryDirectory(), "policy.json");
	await writeFile(path, typeof content === "string" ? content : JSON.stringify(content));
	await chmod(path, mode);
	return path;
}

test("policies are read", async () => {
	const policies = [{ agents: ["codex"], allow: ["npm test"], deny: ["rm -rf"] }, {}];
	expect(await readAgentPolicies(await fileOf({ policies }))).toEqual(policies);
});

test.each([
	["{", /policy\.json: it is not JSON$/],
	[{ policies: {} }, /policy\.json: policies: /],
	[{ policies: [{ allows: ["npm test"] }] }, /policy\.json: policies\.0\S*: there is no such field$/],
	[{ policies: [{}, { allow: ["("] }] }, /policy\.json: policies\.1\.allow: /],
	[{ policies: [{ deny: ["(a)\\1"] }] }, /policies\.0\.deny: .*back references/],
])("the file %j is refused", async (content, message) => {
	await expect(readAgentPolicies(await fileOf(content))).rejects.toMatchObject({
		code: "invalid_argument",
		message: expect.stringMatching(message),
	});
});

test("a file that other users can write is refused", async () => {
	await expect(readAgentPolicies(await fileOf({ policies: [] }, 0o666))).rejects.toMatchObject({
		code: "permission_denied",
	});
});
