import { expect, it } from "vitest";
import { toUserError } from "../../../src/cli/print/errors.ts";
import { HawserError } from "../../../src/client/index.ts";

it.each([
	["not_writable", "take control first: attachment.take({ force: true })", "hawser attach --take"],
	["not_writable", undefined, "hawser attach --take"],
	["unauthenticated", "send it as Authorization: Bearer TOKEN; the server keeps it", "--token or HAWSER_TOKEN"],
	["session_exists", "end them first, or use force=1, which ends them", "use --force"],
	["permission_denied", "ask whoever made the token for one with this right", "ask whoever made the token"],
] as const)("the hint for %s (%s) names a command or flag", (code, hint, expected) => {
	const { message } = toUserError(new HawserError(code, "it can't be", hint === undefined ? {} : { hint })) ?? {};
	expect(message).toMatch(/^it can't be \(.*\)$/);
	expect(message).toContain(expected);
	expect(message).not.toMatch(/attachment\.|force=1|Authorization/);
});
