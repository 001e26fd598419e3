/** The agent in front of a terminal. */

import { chmod, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { agentInFront, scriptIn } from "../../../src/services/agents/agent-program.ts";
import { builtinRules } from "../../../src/services/agents/screen-rules/builtin/index.ts";
import { localScreens } from "../../support/local-screens.ts";
import { eventually } from "../../support/run-program.ts";
import { temporaryDirectory } from "../../support/temporary.ts";

/** The agent in front of a script of sh, once one is, or once the script sleeps. */
async function agentOf(script: string): Promise<string | undefined> {
	const { start } = await localScreens();
	const session = await start(script);
	let found: string | undefined;
	await eventually(async () => {
		found = (await agentInFront(session, builtinRules))?.agent;
		const inspection = await session.inspect();
		return found !== undefined || inspection.kind === "sleep" || inspection.state === "waiting";
	}, 20_000);
	return found;
}

async function scriptCalled(name: string, text: string): Promise<string> {
	const path = join(await temporaryDirectory(), name);
	await writeFile(path, text);
	await chmod(path, 0o755);
	return path;
}

describe("the agent in front", () => {
	it("is known by the name of its process", async () => {
		expect(await agentOf(`exec ${await scriptCalled("codex", "#!/bin/sh\nread -r x\n")}`)).toBe("codex");
	});

	it("is known by the name of the script that an interpreter runs", async () => {
		const path = await scriptCalled("gemini.cjs", "require('node:fs').readSync(0, Buffer.alloc(1))");
		expect(await agentOf(`exec ${process.execPath} ${path}`)).toBe("gemini");
	});

	it("is known by the name of its parent", async () => {
		expect(await agentOf(`exec ${await scriptCalled("claude", "#!/bin/sh\nsleep 1000\nexit 1\n")}`)).toBe(
			"claude-code",
		);
	});

	it("is known while one of its tools runs in its process group", async () => {
		const tool = "/bin/sh -c '/bin/sh -c \"sleep 1000; exit 1\"; exit 1'";
		expect(await agentOf(`exec ${await scriptCalled("claude", `#!/bin/sh\n${tool}\nexit 1\n`)}`)).toBe("claude-code");
	});

	it("is not known by a program that has started another job", async () => {
		const job = `set -m; sleep 1000; exit 1`;
		const path = await scriptCalled("claude", `#!/bin/bash\nbash -c '${job}'\nexit 1\n`);
		const { start } = await localScreens();
		const session = await start(`exec ${path}`);
		await eventually(async () => (await session.inspect()).kind === "sleep", 20_000);
		expect(await agentInFront(session, builtinRules)).toBeUndefined();
	});

	it("is not known by the arguments of another program", async () => {
		expect(await agentOf("cat codex claude - 2>/dev/null")).toBeUndefined();
		expect(await agentOf(`exec ${process.execPath} -e 'fs.readSync(0, Buffer.alloc(1))' gemini`)).toBeUndefined();
	});
});

it("an interpreter has the name of its script", () => {
	expect(scriptIn(["--max-old-space-size=12052", "/x/gemini.js", "codex"])).toBe("gemini");
	expect(scriptIn(["-r", "claude", "/x/tool.mjs"])).toBe("tool");
	expect(scriptIn(["-e", "1", "codex"])).toBe("");
	expect(scriptIn(["--print", "codex"])).toBe("");
	expect(scriptIn([])).toBe("");
});
