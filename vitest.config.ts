/** How the tests are found and run. */

import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";
import { defineConfig, type ViteUserConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";

/**
 * Files that have a process of their own, because they change something of it, count what is in it, or kill what is below
 * it. All others share processes, one after the other, since much of their time would go into loading what they import:
 * they leave nothing there, and what they use does nothing when a file begins or ends.
 */
const apart = [
	"test/backends/{shortage,start,terminal-reader}.test.ts",
	"test/fronts/native/search-shortage.test.ts",
	"test/keepers/shortage.test.ts",
	"test/native/{addon,memory,nursery,teardown}.test.ts",
	"test/sandbox/*.test.ts",
	"test/server/approvals.test.ts",
];

const reports = process.env.HAWSER_TEST_REPORTS;

/** What takes longest, slowest first: begun at the end, it would keep one worker busy while the others have nothing to do. */
const slowest = [
	"test/server/budget.test.ts",
	"test/keepers/server-crash.test.ts",
	"test/scripts/package.test.ts",
	"test/client/torture.test.ts",
	"test/web/list.test.ts",
	"test/cli/server.test.ts",
	"test/web/terminal.test.ts",
	"test/cli/away.test.ts",
	"test/cli/daily.test.ts",
	"test/cli/run.test.ts",
	"test/web/accessible.test.ts",
	"test/cli/attach.test.ts",
];

/** The slowest first, and last those that have a process of their own: the others can share one only if they follow each other. */
class SlowestFirst extends BaseSequencer {
	override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
		const rank = ({ moduleId, project }: TestSpecification): number => {
			const place = slowest.findIndex((path) => moduleId.endsWith(path));
			if (place >= 0) return place - slowest.length;
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
		sequence: { sequencer: SlowestFirst },
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
