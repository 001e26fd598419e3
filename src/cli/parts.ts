/** Commands that have commands of their own, such as `hawser token ls`. */

import type { Command } from "commander";

export function addParts(command: Command, parts: readonly Command[]): void {
	for (const part of parts) {
		command.addCommand(part);
		// Commands added this way don't inherit how errors are said, which is settled where all commands come together.
		part.configureOutput({ outputError: (text, write) => command.configureOutput().outputError?.(text, write) });
	}
}
