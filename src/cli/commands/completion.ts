/** `hawser completion`: prints a shell completion script. */

import { Argument, Command } from "commander";
import { completionScript, type Shell, shells } from "../completion/scripts.ts";
import { print } from "../print/output.ts";

export const completion: Command = new Command("completion")
	.summary("print a shell completion script")
	.description("Prints a script that completes commands, flags and session names in your shell.")
	.addArgument(new Argument("<shell>", "shell").choices(shells))
	.addHelpText(
		"after",
		"\nExamples:\n  hawser completion bash >> ~/.bashrc\n  hawser completion zsh > ~/.zfunc/_hawser\n" +
			"  hawser completion fish > ~/.config/fish/completions/hawser.fish",
	)
	.action(async (shell: Shell, _flags: unknown, command: Command) => {
		if (command.parent) await print(completionScript(shell, command.parent));
	});
