#!/usr/bin/env node
/**
 * Types into a shell, waits for its answers, and reads the exit code: what an agent does.
 *
 * `node examples/node.mjs` finds the server of your own account; HAWSER_URL and HAWSER_TOKEN name another.
 */

import { connect } from "hawser/client";

const { sessions } = connect();
const shell = await sessions.create({ argv: ["sh"], env: { PS1: "$ " } });

await shell.write("echo $((6 * 7)) is the answer\n");
const found = await shell.wait({ match: /(\d+) is the answer/ }, { timeoutMs: 10_000 });
if (found.kind === "match") console.log("the shell says", found.match[1]);

// Comes back by itself after a broken connection or a restart of the server, at the first byte not seen yet.
const attachment = shell.attach({ since: "end" });
await attachment.write("exit 3\n");
for await (const event of attachment) {
	if (event.kind === "exited") console.log("exit code", event.exit.code);
}
await shell.remove();
