/** How the tests are found and run. */

import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";
import { defineConfig, type ViteUserConfig } from "vitest/config";

const config: ViteUserConfig = defineConfig({
	test: {
		include: ["test/**/*.test.ts"],
		// What makes clients of our API's description works with the old compiler's library alone; ours has none yet.
		alias: [
			{ find: /^typescript$/, replacement: "typescript-5.6" },
			{ find: /^hawser\/client$/, replacement: fileURLToPath(new URL("src/client/index.ts", import.meta.url)) },
		],
		server: { deps: { inline: ["openapi-typescript"] } },
		globals: false,
		// Tests start real programs and kill process trees, so each file gets a process of its own.
		pool: "forks",
		// All of them: a test mostly waits for programs, and so leaves room for the other's.
		maxWorkers: availableParallelism(),
		testTimeout: 30_000,
		// A second, as it is by default, is nothing on a machine that is busy with other tests.
		expect: { poll: { timeout: 15_000, interval: 5 } },
		hookTimeout: 30_000,
		teardownTimeout: 10_000,
	},
});

export default config;
