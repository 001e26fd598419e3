# The init file of bash in a session with hooks: reads the user's own files, then marks prompts and commands.
# The session puts __hawser_key, __hawser_file, __hawser_login and __hawser_rcfile before this. None of them is exported.
#
# The user's scripts must not notice the hooks, whatever they set. So what runs at every prompt consists of expansions:
# no DEBUG or ERR trap fires for those, `set -x` does not print them, and `set -e` does not end the shell in them. The
# exit code of a command is part of PS1, because bash gives PS1 the command's own `$?`, whatever PROMPT_COMMAND ran.

# The end of a command's output, and the text of the command. Runs in a command substitution.
__hawser_done() {
	\builtin local - line number
	\builtin set +aekux
	# A wrapper around the user's PROMPT_COMMAND calls this again, after the real first time.
	if [[ ${#FUNCNAME[@]} -gt 1 && ${PROMPT_COMMAND[0]-} == "$__hawser_first" ]]; then \builtin return 0; fi
	\builtin printf '\e]133;D;;n=%s.%s;h=%s\e\\' "$__hawser_turn" "${__hawser_word[1]-}" "$__hawser_key" >/dev/tty
	if ((__hawser_taken == __hawser_turn)); then
		line=$__hawser_line
	else
		HISTTIMEFORMAT=
		line=$(\builtin history 1)
		line=${line#"${line%%[![:space:]]*}"}
		number=${line%%[!0-9]*}
		line=${line#"$number"}
		line=${line:2:800}
		# An empty line is not in the history, and neither is a line that the user keeps out of it.
		((__hawser_at >= 0 && number >= __hawser_number)) || line=
	fi
	if [[ -n $line ]]; then
		line=${line//\\/\\\\}
		line=${line//;/\\x3b}
		line=${line//$'\n'/\\x0a}
		\builtin printf '\e]633;E;%s;%s\e\\' "${line//[[:cntrl:]]/ }" "$__hawser_key" >/dev/tty
	fi
}

# Puts the hooks back when a variable that holds them has changed: many users rebuild their prompts each time, and some
# tools put their own command before PROMPT_COMMAND.
__hawser_wrap() {
	\builtin local -
	\builtin set +aekux
	\builtin local IFS=' '
	if [[ ${PS1@a} == *r* || ${PS0@a} == *r* ]]; then \builtin return 0; fi
	PS1=${PS1-}
	PS1=${PS1//"$__hawser_prompt"/}
	PS1=$__hawser_prompt${PS1//"$__hawser_ready"/}$__hawser_ready
	PS0=${PS0-}
	PS0=${PS0//"$__hawser_read"/}
	PS0=$__hawser_read${PS0//"$__hawser_begin"/}$__hawser_begin
	if [[ ${PS2@a} != *r* ]]; then
		PS2=${PS2-}
		PS2=$__hawser_rest${PS2//"$__hawser_rest"/}
	fi
	# A program below this shell would show the marks, including the key, as text. So none of these is exported.
	\builtin declare -g +x PS0 PS1 PS2
	__hawser_enlist
	__hawser_wrapped=(["x$PS0$PS1${PS2-}${PROMPT_COMMAND[*]-}"]=1)
}

# The user's elements are between the first and the last one. If the user has a string, it moves from the first to the
# second element, and an assignment of another string replaces it there.
__hawser_enlist() {
	\builtin local -a given commands
	\builtin local element
	given=(${PROMPT_COMMAND[@]+"${PROMPT_COMMAND[@]}"})
	commands=()
	if [[ ${PROMPT_COMMAND@a} == *r* ]]; then \builtin return 0; fi
	if [[ -n $__hawser_string && ${given[1]-} == "$__hawser_string" && ${given[0]} != "$__hawser_first" ]]; then
		if [[ ${given[0]} == *"$__hawser_first"* ]]; then
			given[0]=${given[0]//"$__hawser_first"/"$__hawser_string"}
			given[1]=
		elif [[ ${given[*]} != *"$__hawser_first"* ]]; then
			given[1]=
		fi
	fi
	for element in "${given[@]}"; do
		element=${element//"$__hawser_first"[;$'\n']/}
		element=${element//"$__hawser_first"/"$__hawser_nothing"}
		element=${element//"$__hawser_last"[;$'\n']/}
		element=${element//"$__hawser_last"/"$__hawser_nothing"}
		if [[ $element != "$__hawser_nothing" && $element != *([[:space:]]) ]]; then commands+=("$element"); fi
	done
	__hawser_string=${commands[0]-}
	# bash-preexec takes the command after its own last one for the user's.
	if [[ ${commands[*]: -1} == __bp_interactive_mode ]]; then
		\builtin unset -v 'commands[-1]'
		commands+=("$__hawser_last" __bp_interactive_mode)
	else
		commands+=("$__hawser_last")
	fi
	PROMPT_COMMAND=("$__hawser_first" "${commands[@]}")
	# A child shell would not have the functions.
	\builtin declare -g +x PROMPT_COMMAND
}

# Replaces the line by the file's content, followed by its word. No command substitution here: in bash 5.2 it would break the parser.
__hawser_take() {
	\builtin local -
	\builtin set +aekux
	\builtin local IFS=' ' word= number='\#'
	__hawser_enlist
	{
		IFS= \builtin read -r word || :
		IFS= \builtin read -r -d '' READLINE_LINE || :
	} <"$__hawser_file"
	__hawser_word=([1]=$word)
	READLINE_POINT=0
	__hawser_taken=$__hawser_turn
	__hawser_line=${READLINE_LINE:0:800}
	# Disables history expansion in the line. PROMPT_COMMAND restores the characters.
	if [[ $- == *H* && ${histchars@a} != *r* ]]; then
		__hawser_histchars=${histchars-!^#}
		histchars=
		\builtin declare -g +x histchars
	fi
	# bash has already read PS0 and crashes if it changes now. The last element of PROMPT_COMMAND restores it.
	if [[ ${PS0-} != *"$__hawser_begin"* ]]; then
		__hawser_at=$((${number@P} + 1))
		\builtin printf '\e]133;C;t=1;n=%s;h=%s\e\\' "$__hawser_turn" "$__hawser_key" >/dev/tty
	fi
}

# Reports whether the line has text, which a fetched command would replace.
__hawser_look() {
	\builtin local -
	\builtin set +aekux
	\builtin printf '\e]133;T;%s;h=%s\e\\' "${READLINE_LINE:+1}" "$__hawser_key" >/dev/tty
}

# Reports why this shell has no hooks.
__hawser_give_up() {
	\builtin printf '\e]133;X;%s;h=%s\e\\' "$1" "$__hawser_key" >/dev/tty
}

__hawser_install() {
	\builtin local -
	\builtin set +aekux
	\builtin local end='\e\\' map
	\builtin unset -f __hawser_install
	if ((BASH_VERSINFO[0] * 100 + BASH_VERSINFO[1] < 502)); then
		__hawser_give_up "bash ${BASH_VERSINFO[0]}.${BASH_VERSINFO[1]}"
		\builtin return 0
	fi
	if [[ ${PS1@a} == *r* || ${PS0@a} == *r* ]]; then
		__hawser_give_up readonly
		\builtin return 0
	fi
	\builtin declare -gA __hawser_wrapped __hawser_none
	__hawser_nothing='for __hawser_ in; do :; done'
	# Runs before everything else at a prompt: output before it belongs to the command.
	# The second word is empty, and restores the characters that the last fetched line had disabled.
	__hawser_first='for __hawser_ in $({ __hawser_done; } {BASH_XTRACEFD}>/dev/null >/dev/null 2>&1) ${__hawser_none[x${__hawser_histchars:+${histchars:=$__hawser_histchars}}]-}; do :; done'
	# Runs last, with no iteration if everything is in place. [@] and not [*], which would join with the user's IFS.
	__hawser_last='for __hawser_ in "${__hawser_todo[@]:${__hawser_wrapped[x${PS0-}${PS1-}${PS2-}${PROMPT_COMMAND[@]-}]-0}}"; do
__hawser_wrap
done 2>/dev/null'
	# The line number increases at each prompt, so that no mark counts twice. With it comes the word of a fetched command,
	# which appears at its end and never before: a command that expands PS1 itself sees the command number of PS0, and gets
	# neither.
	__hawser_prompt='\[\e]133;A;c=$?;n=$((\#>__hawser_at?__hawser_turn:0)).${__hawser_word[\#>__hawser_at]-};h='$__hawser_key$end
	__hawser_prompt+='\e]7;file://${HOSTNAME-}${__hawser_none[$((__hawser_number=\!,__hawser_turn+=\#>__hawser_at))]-}${PWD//%/%25}'$end'\]'
	__hawser_ready='\[\e]133;B;h='$__hawser_key$end'\]'
	__hawser_rest='\[\e]133;P;k=s;h='$__hawser_key$end'\]'
	# The prompt must contain no exclamation mark, except in \!: in posix mode each is replaced by a history number.
	# The return keeps a preceding backslash from quoting the beginning of the user's own PS0.
	__hawser_read='\e]133;O;h='$__hawser_key$end'\r'
	__hawser_begin='\e]133;C;t=${__hawser_todo[__hawser_turn-__hawser_taken]-};n=$((__hawser_at=\#,__hawser_turn));h='$__hawser_key$end
	# The marks are set last: a shell that is interrupted before shows none and has no hooks.
	for map in emacs vi-insert vi-command; do
		\builtin bind -m "$map" -x '"\e[7707;2~": { __hawser_take; } >/dev/null 2>&1'
		\builtin bind -m "$map" '"\e[7707;1~": "\e[7707;2~\C-m"'
		# Passes the last argument on, so that $_ does not change.
		\builtin bind -m "$map" -x '"\e[7707;3~": { __hawser_look "$_"; } >/dev/null 2>&1'
	done
	__hawser_wrap
}

# Arrays whose first element is used: bash exports no arrays, not even after `set -a`.
__hawser_turn=(1) __hawser_at=(-1) __hawser_taken=(0) __hawser_number=(0) __hawser_string=('')
__hawser_todo=(1)

if [ -n "$__hawser_login" ]; then
	# A login shell of bash reads no init file, so an ordinary one is started that does what a login shell does.
	if [ -r /etc/profile ]; then . /etc/profile; fi
	if [ -r ~/.bash_profile ]; then . ~/.bash_profile
	elif [ -r ~/.bash_login ]; then . ~/.bash_login
	elif [ -r ~/.profile ]; then . ~/.profile
	fi
elif [ -r "${__hawser_rcfile:-$HOME/.bashrc}" ]; then
	. "${__hawser_rcfile:-$HOME/.bashrc}"
fi
{
	__hawser_=([0]=$_)
	unset -v __hawser_login __hawser_rcfile
	__hawser_install
	: "$__hawser_"
} >/dev/null 2>&1
