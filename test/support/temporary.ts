/** Directories that are removed after the test. */

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";

export async function temporaryDirectory(): Promise<string> {
	const directory = await mkdtemp(join(tmpdir(), "hawser-test-"));
	// Retries if an exiting process has just created another file in it.
	onTestFinished(() => rm(directory, { recursive: true, force: true, maxRetries: 5 }));
	return directory;
}
