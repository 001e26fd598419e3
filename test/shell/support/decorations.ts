/** Shells with typical user files that decorate everything. */

export const shells = ["bash", "zsh", "fish"] as const;
export type ShellName = (typeof shells)[number];

/** A prompt rebuilt each time, with several lines and colors, and hooks that use `$?`. */
export const decorations: Readonly<Record<ShellName, Readonly<Record<string, string>>>> = {
	bash: {
		".bashrc": String.raw`
			set -o vi
			export PS1='\u@\h:\w\$ '
			trap 'true' DEBUG
			__own() { local code=$?; PS1="\n\[\e[32m\]$code\[\e[0m\] \w\n> "; history -a; return $code; }
			PROMPT_COMMAND=__own
			PS0='\e[1m\e[0m'
			HISTCONTROL=ignoreboth
			HISTSIZE=10000
			alias ls='ls --color=auto'
		`,
	},
	zsh: {
		".zshrc": String.raw`
			bindkey -v
			setopt promptsubst extendedhistory sharehistory
			HISTFILE=~/.history HISTSIZE=1000 SAVEHIST=1000
			precmd() { own_code=$? }
			own_precmd() { PROMPT=$'\n%F{green}'$own_code$'%f %~\n> ' RPROMPT='%T' }
			own_preexec() { print -n "\e]0;$1\a" }
			autoload -Uz add-zsh-hook
			add-zsh-hook precmd own_precmd
			add-zsh-hook preexec own_preexec
		`,
	},
	fish: {
		".config/fish/config.fish": `
			fish_vi_key_bindings
			set -g fish_greeting hello
			function fish_prompt
				set -l code $status
				echo
				set_color green
				echo -n $code (prompt_pwd)
				set_color normal
				echo
				echo -n '> '
			end
			function fish_right_prompt
				date +%T
			end
		`,
	},
};
