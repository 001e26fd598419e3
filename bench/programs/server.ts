/** The built server from dist/, which kills itself at the n-th pass of a named point. */

import { readInput, say } from "./input.ts";

export type ServerInput = {
	readonly port: number;
	readonly crashAt?: string | undefined;
	readonly crashAfter?: number;
};

const { port, crashAt, crashAfter = 1, directory } = readInput<ServerInput>();
const dist = new URL("../../../dist/server/", import.meta.url);
const { loadConfig } = (await import(new URL("config.js", dist).href)) as typeof import("../../src/server/config.ts");
const { startServer } = (await import(new URL("server.js", dist).href)) as typeof import("../../src/server/server.ts");
let passes = 0;
const server = await startServer(loadConfig({ port: String(port), stateDir: directory }, {}), {
	report: (problem, where) => console.error(where, problem),
	passed: (point) => {
		if (point === crashAt && ++passes >= crashAfter) process.kill(process.pid, "SIGKILL");
	},
});
process.once("SIGTERM", () => server.close().then(() => process.exit(0)));
say(server.url);
