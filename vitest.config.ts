/** How the tests are found and run. */

import { defineConfig, type ViteUserConfig } from "vitest/config";

const config: ViteUserConfig = defineConfig({
	test: {
		include: ["test/**/*.test.ts"],
		globals: false,
		// Tests start real programs and kill process trees, so each file gets a process of its own.
		pool: "forks",
		testTimeout: 30_000,
		hookTimeout: 30_000,
		teardownTimeout: 10_000,
	},
});

export default config;
