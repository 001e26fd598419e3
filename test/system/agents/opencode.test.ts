// @module-tag slow
/** opencode. */

import { test } from "vitest";
import { SCENARIO_MS, throughAllStates } from "./real-agent.ts";

test("opencode goes through all states and the server is killed in between", { timeout: SCENARIO_MS }, async () => {
	await throughAllStates("opencode", {
		question: /^Permission required$/,
		allow: /^Allow once/,
		deny: /^Reject/,
		signal: "screen",
	});
});
