// @module-tag slow
/** OpenAI's Codex. */

import { test } from "vitest";
import { SCENARIO_MS, throughAllStates } from "./real-agent.ts";

test("codex goes through all states and the server is killed in between", { timeout: SCENARIO_MS }, async () => {
	await throughAllStates("codex", {
		question: /^Would you like to run the following command\?$/,
		allow: /^Yes, proceed/,
		deny: /^No/,
		signal: "osc7501",
	});
});
