/** Generates shell completion scripts from the command definitions. */

import type { Command, Option } from "commander";

export const shells = ["bash", "zsh", "fish"] as const;
export type Shell = (typeof shells)[number];

type Described = { readonly name: string; readonly summary: string };
type Flag = {
	readonly long: string | undefined;
	readonly short: string | undefined;
	readonly description: string;
	readonly takesValue: boolean;
};
type CommandModel = Described & {
	readonly aliases: readonly string[];
	readonly flags: readonly Flag[];
	readonly parts: readonly Described[];
	readonly takesSession: boolean;
};

export function completionScript(shell: Shell, program: Command): string {
	const commands = program.commands.filter((command) => !command.name().startsWith("_")).map(modelOf);
	return { bash, zsh, fish }[shell](commands);
}

function modelOf(command: Command): CommandModel {
	return {
		name: command.name(),
		aliases: command.aliases(),
		summary: command.summary(),
		flags: [...command.options.map(flagOf), flag("--help", "-h", "show help for this command")],
		parts: command.commands.map((part) => ({ name: part.name(), summary: part.summary() })),
		takesSession: command.registeredArguments.some((argument) => argument.name() === "session"),
	};
}

function flagOf({ long, short, description, required, optional }: Option): Flag {
	return { ...flag(long ?? undefined, short ?? undefined, description), takesValue: required || optional };
}

function flag(long: string | undefined, short: string | undefined, description: string): Flag {
	return { long, short, description, takesValue: false };
}

/**
 * Extracts IDs and names from `ls --json` with sed alone. Skips names with special characters, which shells might
 * interpret.
 */
const SESSIONS = `command hawser ls --all --json 2>/dev/null |
		sed -nE 's/^    "(id|name)": "([A-Za-z0-9_.@:-]+)",$/\\2/p'`;

function bash(commands: readonly CommandModel[]): string {
	const cases = commands.map(({ name, aliases, flags, parts, takesSession }) => {
		const words = [...parts.map((part) => part.name), ...flags.flatMap(({ long }) => long ?? [])].join(" ");
		return `		${[name, ...aliases].join("|")}) flags='${words}' takes_session=${takesSession ? 1 : ""} ;;`;
	});
	return `# bash completion for hawser. Use it now: source <(hawser completion bash)
_hawser_sessions() {
	${SESSIONS}
}
_hawser() {
	local cur=\${COMP_WORDS[COMP_CWORD]} name= flags= takes_session= i
	for ((i = 1; i < COMP_CWORD; i++)); do
		[[ \${COMP_WORDS[i]} == -- ]] && return
		if [[ \${COMP_WORDS[i]} != -* ]]; then name=\${COMP_WORDS[i]}; break; fi
	done
	case $name in
		'') flags='${commands.map(({ name }) => name).join(" ")} --help --version' ;;
${cases.join("\n")}
	esac
	if [[ -n $takes_session && $cur != -* ]]; then flags=$(_hawser_sessions); fi
	COMPREPLY=($(compgen -W "$flags" -- "$cur"))
}
complete -o default -F _hawser hawser
`;
}

function zsh(commands: readonly CommandModel[]): string {
	const names = commands.map(({ name, summary }) => `		${quoted(`${name}:${summary}`)}`);
	const cases = commands.map(({ name, aliases, flags, parts, takesSession }) => {
		const words = [
			...parts.map((part) => quoted(`${part.name}:${part.summary}`)),
			...flags.flatMap(({ long, description }) => (long ? quoted(`${long}:${description}`) : [])),
		];
		const sessions = takesSession ? ` sessions=(\${(f)"$(_hawser_sessions)"})` : "";
		return `		${[name, ...aliases].join("|")}) words_here=(${words.join(" ")})${sessions} ;;`;
	});
	return `#compdef hawser
# zsh completion for hawser. Use it now: source <(hawser completion zsh)
_hawser_sessions() {
	${SESSIONS}
}
_hawser() {
	local -a commands words_here sessions
	commands=(
${names.join("\n")}
	)
	if (( CURRENT == 2 )); then
		_describe 'command' commands
		return
	fi
	case $words[2] in
${cases.join("\n")}
	esac
	if [[ $words[CURRENT] == -* ]]; then
		_describe 'option' words_here
	elif (( $#sessions )); then
		compadd -a sessions
	else
		_describe 'option' words_here
		_files
	fi
}
compdef _hawser hawser
`;
}

function fish(commands: readonly CommandModel[]): string {
	const lines = commands.flatMap(({ name, aliases, summary, flags, parts, takesSession }) => {
		const when = `-n '__fish_seen_subcommand_from ${[name, ...aliases].join(" ")}'`;
		return [
			`complete -c hawser -n __fish_use_subcommand -f -a ${name} -d ${quoted(summary)}`,
			...parts.map((part) => `complete -c hawser ${when} -f -a ${part.name} -d ${quoted(part.summary)}`),
			...flags.map((each) => `complete -c hawser ${when} ${fishFlag(each)}`),
			...(takesSession ? [`complete -c hawser ${when} -f -a '(__hawser_sessions)'`] : []),
		];
	});
	return `# fish completion for hawser. Use it now: hawser completion fish | source
function __hawser_sessions
	${SESSIONS}
end
${lines.join("\n")}
`;
}

function fishFlag({ long, short, description, takesValue }: Flag): string {
	const names = [...(long ? [`-l ${long.slice(2)}`] : []), ...(short ? [`-s ${short.slice(1)}`] : [])];
	return [...names, ...(takesValue ? ["-r"] : []), `-d ${quoted(description)}`].join(" ");
}

/** Quotes for all three shells: single quotes, and no special characters inside. */
function quoted(text: string): string {
	const plain = text.replaceAll("'", "\u2019").replace(/[\\\n]/g, " ");
	return `'${plain.replaceAll("[", "(").replaceAll("]", ")")}'`;
}
