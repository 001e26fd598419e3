/** How the tests are found and run. */

import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";
import { defineConfig, type ViteUserConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";
import { testFiles } from "./scripts/test-files.js";

const tagged = testFiles();
const filesWith = (tag: string): string[] => tagged.filter(({ tags }) => tags.includes(tag)).map(({ file }) => file);

/**
 * Files that have a process of their own, because they change something of it, count what is in it, or kill what is
 * below it. The other files share processes, one after the other: loading what they import takes much of their time,
 * and they leave nothing behind.
 */
const apart = filesWith("apart");

const reports = process.env.HAWSER_TEST_REPORTS;

/** Files that take more than five seconds. They start first, so that no worker is left with one at the end. */
const slow = filesWith("slow");

/** Slow files first, and files with a process of their own last: the others can only share one while they follow each other. */
class SlowFirst extends BaseSequencer {
	override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
		const rank = ({ moduleId, project }: TestSpecification): number => {
			if (slow.some((path) => moduleId.endsWith(path))) return -1;
			return project.name === "apart" ? 1 : 0;
		};
		return (await super.sort(files)).sort((a, b) => rank(a) - rank(b));
	}
}

const config: ViteUserConfig = defineConfig({
	test: {
		// What makes clients of our API's description works with the old compiler's library alone; ours has none yet.
		alias: [
			{ find: /^typescript$/, replacement: "typescript-5.6" },
			// One file of each part, as the compiled server has it: hundreds would be loaded for every file of tests.
			{
				find: /^typebox(\/\w+)?$/,
				replacement: fileURLToPath(new URL("dist/node_modules/typebox/typebox$1.js", import.meta.url)),
			},
			{ find: /^hawser\/client$/, replacement: fileURLToPath(new URL("src/client/index.ts", import.meta.url)) },
		],
		server: { deps: { inline: ["openapi-typescript"] } },
		globals: false,
		pool: "forks",
		// All of them: a test mostly waits for programs, and so leaves room for the other's.
		maxWorkers: availableParallelism(),
		tags: [{ name: "apart" }, { name: "slow" }],
		sequence: { sequencer: SlowFirst },
		testTimeout: 30_000,
		// A second, as it is by default, is nothing on a machine that is busy with other tests.
		expect: { poll: { timeout: 15_000, interval: 5 } },
		hookTimeout: 30_000,
		teardownTimeout: 10_000,
		// Where a worker is, on SIGUSR2, for who finds that nothing goes on (scripts/suite.js).
		execArgv: reports === undefined ? [] : ["--report-on-signal", "--report-compact", `--report-directory=${reports}`],
		projects: [
			{ extends: true, test: { name: "together", include: ["test/**/*.test.ts"], exclude: apart, isolate: false } },
			{ extends: true, test: { name: "apart", include: apart } },
		],
	},
});

export default config;
