// @module-tag slow

/** Each account that types through a gate gets its share of the matching, whatever other accounts type. */

import { expect, it, onTestFinished } from "vitest";
import { GateJudge } from "../../../src/services/gates/judge.ts";

/** This expression takes too long for this text. */
const SLOW = { expression: "^(a+)+$", text: `${"a".repeat(40)}!` };

function newJudge(): GateJudge {
	const judge = new GateJudge();
	onTestFinished(() => judge.close());
	return judge;
}

it("an account with too many waiting texts is refused, and others do not wait for all of them", async () => {
	const { judge } = newJudge();
	const judged: string[] = [];
	const slow = Array.from({ length: 8 }, (_, index) =>
		judge("agent", [SLOW.expression], SLOW.text).then((match) => judged.push(`agent ${index}: ${match}`)),
	);
	await expect(judge("agent", [SLOW.expression], SLOW.text)).rejects.toMatchObject({
		code: "limit_exceeded",
		message: "no more waiting texts for gate expressions: this token has 8 (limit 8 per token)",
	});
	await judge("other agent", ["^touch"], "touch x").then((match) => judged.push(`other agent: ${match}`));
	await judge("admin", ["^touch"], "ls").then((match) => judged.push(`admin: ${match}`));
	expect(judged.slice(0, 3).sort()).toEqual(["agent 0: unreadable", "agent 1: unreadable", "other agent: match"]);
	expect(judged.at(-1)).toBe("admin: undefined");
	expect(judged.length).toBeLessThan(8);
	void Promise.allSettled(slow);
}, 60_000);
