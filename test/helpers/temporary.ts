/** Directories that are gone when the test is over. */

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";

export async function temporaryDirectory(): Promise<string> {
	const directory = await mkdtemp(join(tmpdir(), "hawser-test-"));
	// Again, if a process that is on its way out has just made another file in it.
	onTestFinished(() => rm(directory, { recursive: true, force: true, maxRetries: 5 }));
	return directory;
}
