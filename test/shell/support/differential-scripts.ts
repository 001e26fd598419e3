/** Random scripts for running shells, the same for the same seed: settings that could disturb hooks, and commands. */

import { type ShellName, shells } from "./decorations.ts";

export type Script = {
	readonly shell: ShellName;
	/** The user's file, read at the shell's start. */
	readonly file: string;
	/** Lines typed at prompts. */
	readonly lines: readonly string[];
};

type Matter = { readonly settings: readonly string[]; readonly commands: readonly string[] };

/** Key sequences that are not a line. */
export const KEYS: ReadonlySet<string> = new Set(["\u0003", "half\u0003", "echo up\r\u001b[A"]);

const MATTER: Readonly<Record<ShellName, Matter>> = {
	bash: {
		settings: String.raw`
			set -e
			set -u
			set -x
			set -k
			set -E
			set -T
			set -f
			set -C
			set -o pipefail
			set -o posix
			set -o vi
			set -o ignoreeof
			set +o history
			set +H
			shopt -s extdebug
			shopt -s failglob
			shopt -s nullglob
			shopt -s extglob
			shopt -s inherit_errexit
			shopt -s checkwinsize histverify
			shopt -s lithist; shopt -u cmdhist
			shopt -s assoc_expand_once
			IFS=:
			IFS=
			trap 'echo ERR' ERR
			trap 'echo ERR $?' ERR; set -E
			trap 'echo DEBUG' DEBUG
			trap 'echo EXIT' EXIT
			trap 'echo RETURN' RETURN; set -T
			trap 'echo INT' INT
			PROMPT_COMMAND=true
			PROMPT_COMMAND='echo before'
			PROMPT_COMMAND=(true 'echo second')
			PROMPT_COMMAND='seen=$?; echo "seen $seen"'
			PROMPT_COMMAND='history -a'
			PROMPT_COMMAND='false; true'
			declare -r PROMPT_COMMAND='echo fixed'
			PROMPT_COMMAND='PS1="$? rebuilt\$ "'
			PROMPT_COMMAND='IFS=, ; true'
			own() { local code=$?; PS1="[$code] "; return $code; }; PROMPT_COMMAND=own
			_direnv_hook() { local previous=$?; true; return $previous; }; PROMPT_COMMAND="_direnv_hook;$PROMPT_COMMAND"
			starship() { STATUS=$?; eval "$OLD"; PS1="$STATUS > "; }; OLD=$PROMPT_COMMAND; PROMPT_COMMAND=starship
			PS0='started '
			PS0='$(echo by substitution) '
			PS1='\w \! \# $? > '
			PS1='$(echo sub) \$ '; PS2='more> '
			PS4='trace \# '; set -x
			HISTCONTROL=ignoreboth
			HISTCONTROL=erasedups; HISTTIMEFORMAT='%F '
			HISTSIZE=3
			printf() { builtin printf "own $@"; }
			history() { echo own history; }
			local() { echo own local; }
			read() { echo own read; }
			done_() { :; }; alias local='echo aliased'; alias builtin='echo aliased'
			exec 2>&1
			exec 9>trace; BASH_XTRACEFD=9; set -x
			LANG=C; LC_ALL=C
			histchars='@^#'
			TMOUT=100
			POSIXLY_CORRECT=1
		`
			.trim()
			.split(/\n\s*/),
		commands: String.raw`
			false
			! true
			(exit 42)
			echo out; sh -c 'exit 7'
			false | true | sh -c 'exit 3'
			echo "status $? last $_ pipes $PIPESTATUS"
			echo $?
			echo $_ $LINENO
			echo a b c | tr a z
			echo )
			if true; then
			x=5 y=6
			echo $x $((x + 1))
			cd /; cd - >/dev/null
			f() { return 4; }; f
			for i in 1 2; do echo $i; done
			[[ a == b ]]
			((0))
			echo !!
			echo "!e"
			echo 'a!b'
			 echo spaced
			sleep 0.02 & wait
			bash -c 'echo inner $SHLVL'
			(set -e; false; echo no)
			eval 'echo evaled; false'
			echo $(false) $?
			cat <<<here
			echo "\$-: $-"
			no_such_command_at_all
			echo *nothing*
			trap -p
			type true
			echo -n partial
			history | tail -n 2
			set -- a b; echo $#
		`
			.trim()
			.split(/\n\t*/)
			.concat("", "\u0003", "half\u0003", "echo up\r\u001b[A", "echo 'two\rlines'"),
	},
	zsh: {
		settings: `
			setopt err_exit
			setopt err_return
			setopt xtrace
			setopt ksh_arrays
			setopt sh_word_split
			setopt no_unset
			setopt prompt_subst
			setopt no_prompt_percent
			setopt no_prompt_sp
			setopt no_prompt_cr
			setopt no_bang_hist
			setopt extended_glob
			setopt no_nomatch
			setopt null_glob
			setopt no_clobber
			setopt posix_builtins
			setopt pipe_fail
			setopt share_history; HISTFILE=~/history; SAVEHIST=10
			setopt hist_ignore_space hist_ignore_dups
			setopt warn_create_global
			setopt print_exit_value
			setopt transient_rprompt; RPROMPT='right'
			setopt interactive_comments
			setopt glob_subst
			setopt typeset_silent
			setopt auto_cd
			IFS=:
			bindkey -v
			trap 'echo EXIT' EXIT
			trap 'echo INT' INT
			TRAPZERR() { echo zerr }
			trap 'echo ERR' ERR
			precmd() { echo precmd $? }
			preexec() { echo preexec $1 }
			own() { echo own $? }; precmd_functions+=(own)
			own() { echo own $? }; precmd_functions=(own $precmd_functions)
			own() { PROMPT="$? rebuilt> " }; precmd_functions+=(own)
			own() { return 3 }; precmd_functions+=(own)
			own() { echo begins $1 }; preexec_functions=(own)
			chpwd() { echo moved }
			PS1='%? %~ %# '
			PS1='%n@%m %(?..failed )> '; PS2='%_> '
			PROMPT_EOL_MARK=''
			PROMPT_EOL_MARK='(none)'
			print() { echo own print }
			alias local='echo aliased'; alias print='echo aliased'
			emulate ksh; setopt ksh_arrays
			zle-line-init() { true }; zle -N zle-line-init
			histchars='@^#'
			HISTSIZE=3
		`
			.trim()
			.split(/\n\s*/),
		commands: `
			false
			! true
			(exit 42)
			echo out; sh -c 'exit 7'
			false | true | sh -c 'exit 3'
			echo "status $? last $_"
			echo $? $pipestatus
			echo a b c | tr a z
			echo )
			x=5 y=6
			echo $x $((x + 1))
			cd /; cd - >/dev/null
			f() { return 4; }; f
			for i in 1 2; do echo $i; done
			[[ a == b ]]
			((0))
			echo 'a!b'
			 echo spaced
			zsh -fc 'echo inner'
			(set -e; false; echo no)
			eval 'echo evaled; false'
			echo $(false) $?
			cat <<<here
			no_such_command_at_all
			echo *nothing*
			type true
			echo -n partial
			fc -l | tail -n 2
			set -- a b; echo $#
			echo $HISTCMD
		`
			.trim()
			.split(/\n\t*/)
			.concat("", "\u0003", "half\u0003", "echo up\r\u001b[A", "echo 'two\rlines'"),
	},
	fish: {
		settings: `
			function fish_prompt; echo -n $status '> '; end
			function fish_prompt; printf 'two\\nlines> '; end
			function fish_right_prompt; echo right; end
			function fish_mode_prompt; end
			fish_vi_key_bindings
			function own --on-event fish_postexec; echo own $status >>own; end
			function own --on-event fish_preexec; echo own $argv >>own; end
			function own --on-event fish_prompt; false; end
			function own --on-variable PWD; echo moved >>own; end
			function own --on-event fish_exit; echo exited >>own; end
			function printf; echo own; end
			function string; command true; end
			set -g fish_greeting
			set -gx IFS :
			set -g status_seen 1
			functions -e fish_prompt
		`
			.trim()
			.split(/\n\s*/),
		commands: `
			false
			not true
			sh -c 'exit 42'
			echo out; sh -c 'exit 7'
			false | true | sh -c 'exit 3'
			echo $status $pipestatus >>seen
			echo a b c | tr a z
			set x 5
			cd /; cd -
			function f; return 4; end; f
			for i in 1 2; echo $i; end
			test a = b
			 echo spaced
			fish --no-config -c 'echo inner'
			eval 'echo evaled; false'
			no_such_command_at_all
			echo *nothing*
			type true
			echo -n partial
			begin; false; end; echo $status >>seen
		`
			.trim()
			.split(/\n\t*/)
			.concat("", "\u0003", "half\u0003"),
	},
};

const FILES: Readonly<Record<ShellName, string>> = { bash: ".bashrc", zsh: ".zshrc", fish: ".config/fish/config.fish" };

/** With these in the user's file, the trace depth reveals that another file reads it. */
const ONLY_TYPED = /^set -[xT]|set -[xT]$/;

const READONLY = "declare -r PROMPT_COMMAND";

const MOST_SETTINGS = 3;
const COMMANDS = 5;

/** Each setting comes first in some scripts. Half of the scripts have settings in the user's file, half type them. */
export function scripts(count: number, seed: number): (Script & { readonly fileName: string })[] {
	let state = seed;
	const random = (below: number) => {
		state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff;
		return (state >>> 8) % below;
	};
	// bash and zsh have more settings to test.
	const turns = [...shells, "bash", "zsh", "bash"] as const;
	return Array.from({ length: count }, (_, index) => {
		const shell = turns[index % turns.length] ?? "bash";
		const { settings, commands } = MATTER[shell];
		const pick = (from: readonly string[]) => from[random(from.length)] ?? "";
		const chosen = [settings[Math.floor(index / 2) % settings.length] ?? ""];
		for (let more = random(MOST_SETTINGS); more > 0; more--) chosen.push(pick(settings));
		// A readonly array keeps its elements, so this one would keep the previous content of PROMPT_COMMAND.
		chosen.sort((a, b) => Number(b.startsWith(READONLY)) - Number(a.startsWith(READONLY)));
		const isTyped = random(2) === 0 || (shell === "bash" && chosen.some((one) => ONLY_TYPED.test(one)));
		const run = Array.from({ length: COMMANDS }, () => pick(commands));
		const prompt = { bash: "PS1='$ '", zsh: "PS1='%# '", fish: "set -g fish_greeting" }[shell];
		return {
			shell,
			fileName: FILES[shell],
			file: [prompt, ...(isTyped ? [] : chosen), ""].join("\n"),
			// Before the first command, `$_` is the name of a file that was read.
			lines: ["true", ...(isTyped ? chosen : []), ...run],
		};
	});
}
