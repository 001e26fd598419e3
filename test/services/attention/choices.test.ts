import { expect, it } from "vitest";
import { choicesOf } from "../../../src/services/attention/choices.ts";

it.each([
	["Push 3 commits to origin/billing-split? [y/N]", ["y", "N"]],
	["Do you want to continue? [Y/n] ", ["Y", "n"]],
	["Proceed (yes/no)? ", ["yes", "no"]],
	["Are you sure you want to continue connecting (yes/no/[fingerprint])? ", ["yes", "no"]],
	["Stage this hunk [y,n,q,a,d,e,?]? ", undefined],
	["Overwrite? (y / n / all):", ["y", "n", "all"]],
	["copied (src/a.c) to dist [1/2] done", undefined],
	["Password:", undefined],
	["~/src (main) $ ", undefined],
	["", undefined],
])("the choices in %j", (prompt, choices) => {
	expect(choicesOf(prompt)).toEqual(choices);
});
