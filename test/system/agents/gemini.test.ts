// @module-tag slow
/** Google's Gemini CLI. */

import { test } from "vitest";
import { SCENARIO_MS, throughAllStates } from "./real-agent.ts";

test("gemini goes through all states and the server is killed in between", { timeout: SCENARIO_MS }, async () => {
	await throughAllStates("gemini", {
		question: /^Allow execution of/,
		allow: /^Allow once/,
		deny: /^No/,
		signal: "title",
	});
});
