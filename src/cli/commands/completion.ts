/** `hawser completion`: what a shell needs to complete our commands. */

import { Argument, Command } from "commander";
import { completionScript, type Shell, shells } from "../completion.ts";
import { print } from "../output.ts";

export const completion: Command = new Command("completion")
	.summary("complete commands in your shell")
	.description("Prints a script with which your shell completes commands, flags and sessions.")
	.addArgument(new Argument("<shell>", "which shell").choices(shells))
	.addHelpText(
		"after",
		"\nExamples:\n  hawser completion bash >> ~/.bashrc\n  hawser completion zsh > ~/.zfunc/_hawser\n" +
			"  hawser completion fish > ~/.config/fish/completions/hawser.fish",
	)
	.action(async (shell: Shell, _flags: unknown, command: Command) => {
		if (command.parent) await print(completionScript(shell, command.parent));
	});
