# The .zshenv of zsh in a session with hooks. During the start, ZDOTDIR is ours, and each of our files reads the user's
# file with the user's ZDOTDIR. The marks are added after .zshrc.
# The session puts __hawser_key, __hawser_file and __hawser_directory before this. None of them is exported.

# Restores the user's ZDOTDIR, or none. __hawser_in sets ours again for the next file that zsh reads.
__hawser_out() {
	if [[ -n ${HAWSER_ZDOTDIR+x} ]]; then export ZDOTDIR=$HAWSER_ZDOTDIR; else unset ZDOTDIR; fi
	unset HAWSER_ZDOTDIR
}
__hawser_in() {
	[[ -n ${ZDOTDIR+x} ]] && HAWSER_ZDOTDIR=$ZDOTDIR
	ZDOTDIR=$__hawser_directory
}

# zsh gives each function of a hook the command's own `$?` and ignores its status. So that the user's scripts do not notice
# the hooks, these functions write only to the terminal, wherever the shell's output and traces go, have local options,
# and run no command that fails.
__hawser_tell() { builtin print -rn -- "$1" >/dev/tty; }

__hawser_mark() { __hawser_tell $'\e]133;'"$1;h=$__hawser_key"$'\e\\' }

# The number of the next line, so that no mark counts twice, and the word of a fetched line, which appears at its end and
# never before. The mark at the end of output includes it too.
__hawser_next() {
	if [[ ${PROMPT_EOL_MARK-} == *$__hawser_key* && ${(t)PROMPT_EOL_MARK} != *readonly* ]]; then
		PROMPT_EOL_MARK=${PROMPT_EOL_MARK/;n=$__hawser_turn;/;n=$1;}
	fi
	__hawser_turn=$1
}

# Puts the hooks back in place. zsh writes PROMPT_EOL_MARK before anything else where output ends without a newline: the
# command has ended there. Without PROMPT_SP zsh writes none, and the first function marks the end. An assignment to a
# variable that the user has made read-only would end the function.
__hawser_enlist() {
	local mark=$'%{\e]133;D;%?;n='$__hawser_turn';h='$__hawser_key$'\e\\%}'
	if [[ ${PROMPT_EOL_MARK-} != *$__hawser_key* && ${(t)PROMPT_EOL_MARK} != *readonly* ]]; then
		PROMPT_EOL_MARK=$mark${PROMPT_EOL_MARK-%B%S%#%s%b}
	fi
	# A program below this shell would show the marks, including the key, as text. So none of these is exported.
	builtin typeset -g +x PS1 PS2 PROMPT_EOL_MARK
	if [[ ${(t)precmd_functions} != *readonly* ]]; then
		precmd_functions=(__hawser_done ${${precmd_functions:#__hawser_done}:#__hawser_wrap} __hawser_wrap)
	fi
	if [[ ${(t)preexec_functions} != *readonly* ]]; then
		preexec_functions=(${preexec_functions:#__hawser_preexec} __hawser_preexec)
	fi
}

__hawser_preexec() {
	{
		builtin emulate -LR zsh
		builtin trap - DEBUG
		local line=${1[1,800]} word=${__hawser_turn#${__hawser_turn%%.*}}
		__hawser_next $((${__hawser_turn%%.*} + 1))$word
		__hawser_enlist
		__hawser_ran=1
		line=${line//\\/\\\\}
		line=${line//;/\\x3b}
		line=${line//$'\n'/\\x0a}
		__hawser_tell $'\e]633;E;'"${line//[[:cntrl:]]/ };$__hawser_key"$'\e\\'
		__hawser_mark "C;t=${__hawser_taken-};n=${__hawser_turn%%.*}"
	} >/dev/null 2>&1
}

# Runs before everything else at a prompt. With PROMPT_SP the end is already reported, at the end of the output. A command
# that calls the functions of this hook itself has not ended, and a call from another function has that one's `$?`.
__hawser_done() {
	{
		local code=$?
		builtin emulate -LR zsh
		builtin trap - DEBUG
		if [[ $ZSH_EVAL_CONTEXT == shfunc ]]; then
			if [[ -n ${__hawser_ran-} ]]; then __hawser_mark "D;$code;n=$__hawser_turn"; fi
			__hawser_ran= __hawser_taken=
			__hawser_next $((${__hawser_turn%%.*} + 1))
			if [[ -n ${__hawser_histchars-} && -z $histchars && ${(t)histchars} != *readonly* ]]; then histchars=$__hawser_histchars; fi
			__hawser_histchars=
			__hawser_tell $'\e]7;file://'"${HOST-}${PWD//\%/%25}"$'\e\\'
		fi
	} >/dev/null 2>&1
}

# Runs last, because many users rebuild their prompts each time.
__hawser_wrap() {
	{
		local percent=
		if [[ -o prompt_percent ]]; then percent=1; fi
		builtin emulate -LR zsh
		builtin trap - DEBUG
		local key=h=$__hawser_key
		local first=$'%{\e]133;A;'$key$'\e\\%}' ready=$'%{\e]133;B;'$key$'\e\\%}' rest=$'%{\e]133;P;k=s;'$key$'\e\\%}'
		if [[ -z $percent ]]; then
			# The prompt must not contain invisible text. So the mark comes just before it.
			if [[ ${PS1-} == *$key* && ${(t)PS1} != *readonly* ]]; then PS1=${${PS1//"$first"/}//"$ready"/}; fi
			if [[ ${PS2-} == *$key* && ${(t)PS2} != *readonly* ]]; then PS2=${PS2//"$rest"/}; fi
		else
			if [[ ${PS1-} != *$ready* && ${(t)PS1} != *readonly* ]]; then PS1=$first${${PS1-}//"$first"/}$ready; fi
			if [[ ${PS2-} != *$rest* && ${(t)PS2} != *readonly* ]]; then PS2=$rest${PS2-}; fi
		fi
		if [[ ${PS1-} != *$ready* ]]; then __hawser_mark B; fi
		__hawser_enlist
	} >/dev/null 2>&1
}

# Replaces the line by the file's content, followed by its word, without history expansion. Unsetting BANG_HIST would only
# affect later lines, but the characters are used as they are read; the third one begins comments.
__hawser_take() {
	{
		builtin emulate -LR zsh
		builtin trap - DEBUG
		local text=$(<$__hawser_file)
		__hawser_enlist
		BUFFER=${text#*$'\n'}
		__hawser_next $((${__hawser_turn%%.*} + 1)).${text%%$'\n'*}
		__hawser_taken=1
		if [[ -n $histchars ]]; then __hawser_histchars=$histchars; fi
		if [[ ${(t)histchars} != *readonly* ]]; then histchars=$'\0\0'${histchars:2:1}; fi
		if [[ ${preexec_functions[(r)__hawser_preexec]-} == "" ]]; then __hawser_preexec "$BUFFER"; fi
	} >/dev/null 2>&1
	zle .accept-line
}

# Reports whether the line has text, which a fetched command would replace.
__hawser_look() {
	{
		builtin emulate -LR zsh
		builtin trap - DEBUG
		__hawser_mark "T;${BUFFER:+1}"
	} >/dev/null 2>&1
}

__hawser_install() {
	{
		builtin emulate -LR zsh
		local map
		__hawser_turn=1
		zle -N __hawser_take
		zle -N __hawser_look
		for map in emacs viins vicmd; do
			bindkey -M $map '\e[7707;1~' __hawser_take
			bindkey -M $map '\e[7707;3~' __hawser_look
		done
		# The marks are set last: a shell that is interrupted before shows none and has no hooks.
		__hawser_enlist
		# Some systems put the history next to the other files.
		if [[ ${HISTFILE-} == $__hawser_directory/* ]]; then HISTFILE=${ZDOTDIR-$HOME}/${HISTFILE:t}; fi
		unfunction __hawser_install __hawser_in __hawser_out
	} >/dev/null 2>&1
}

__hawser_out
[[ -r ${ZDOTDIR-$HOME}/.zshenv ]] && source ${ZDOTDIR-$HOME}/.zshenv
[[ -o interactive ]] && __hawser_in
true
