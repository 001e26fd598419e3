import { expect, it } from "vitest";
import { explain } from "../../src/cli/errors.ts";
import { HawserError } from "../../src/client/index.ts";

it.each([
	["not_writable", "take control first: attachment.take({ force: true })", "hawser attach --take"],
	["not_writable", undefined, "hawser attach --take"],
	["unauthenticated", "send it as Authorization: Bearer TOKEN; the server keeps it", "--token or HAWSER_TOKEN"],
	["session_exists", "end them first, or ask with force=1, which ends them", "use --force"],
	["permission_denied", "ask whoever made the token for one with this right", "ask whoever made the token"],
] as const)("what to do is said in commands: %s, %s", (code, hint, expected) => {
	const { sentence } = explain(new HawserError(code, "it can't be", hint === undefined ? {} : { hint })) ?? {};
	expect(sentence).toMatch(/^it can't be \(.*\)$/);
	expect(sentence).toContain(expected);
	expect(sentence).not.toMatch(/attachment\.|force=1|Authorization/);
});
