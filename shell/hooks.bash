# What bash reads in place of ~/.bashrc in a session with hooks: the user's own files first, then the marks.
# The session puts __hawser_key, __hawser_file and __hawser_login before this. Nothing of it is exported.

if [ -n "$__hawser_login" ]; then
	# bash reads no init file as a login shell, so it is started as an ordinary one that does what a login does.
	[ -r /etc/profile ] && . /etc/profile
	if [ -r ~/.bash_profile ]; then . ~/.bash_profile
	elif [ -r ~/.bash_login ]; then . ~/.bash_login
	elif [ -r ~/.profile ]; then . ~/.profile
	fi
elif [ -r ~/.bashrc ]; then
	. ~/.bashrc
fi
unset __hawser_login

# To the terminal, even after an `exec >file`.
__hawser_tell() {
	if [[ -t 1 ]]; then builtin printf "$@"; else builtin printf "$@" >/dev/tty; fi
}

# The number of the line that comes next, so that no mark counts twice; and, once it was fetched, the word that came with
# it, which is shown at its end and never before.
__hawser_turn=1

# First of all that is done before a prompt: what came before it is output, and $? is the command's.
__hawser_done() {
	local code=$? line number
	__hawser_tell '\e]133;D;%s;n=%s;h=%s\e\\' "$code" "$__hawser_turn" "$__hawser_key"
	__hawser_turn=$((${__hawser_turn%%.*} + 1))
	__hawser_tell '\e]7;file://%s%s\e\\' "${HOSTNAME-}" "${PWD//%/%25}"
	if [[ -n ${__hawser_expands-} ]]; then
		set -H
		__hawser_expands=
	fi
	if [[ -n ${__hawser_taken-} ]]; then
		line=$__hawser_line
		__hawser_taken=
	else
		line=$(HISTTIMEFORMAT='' builtin history 1)
		line=${line#"${line%%[![:space:]]*}"}
		number=${line%%[!0-9]*}
		line=${line#"$number"}
		line=${line:2:800}
		# An empty line is not in the history, and neither is what the user keeps out of it.
		[[ $number == "${__hawser_number-$number}" ]] && line=
		__hawser_number=$number
	fi
	if [[ -n $line ]]; then
		line=${line//\\/\\\\}
		line=${line//;/\\x3b}
		line=${line//$'\n'/\\x0a}
		__hawser_tell '\e]633;E;%s;%s\e\\' "${line//[[:cntrl:]]/ }" "$__hawser_key"
	fi
	return "$code"
}

# Last, because many build their prompts anew each time.
__hawser_wrap() {
	local code=$? mark='\[\e]133;%s;h='$__hawser_key'\e\\\]'
	[[ ${PS1-} == *"133;B;h=$__hawser_key"* ]] || PS1=${mark/\%s/A}${PS1-}${mark/\%s/B}
	[[ ${PS2-} == *"h=$__hawser_key"* ]] || PS2=${mark/\%s/P;k=s}${PS2-}
	[[ ${PS0-} == *"h=$__hawser_key"* ]] || PS0='\e]133;O;h='$__hawser_key'\e\\'${PS0-}'\e]133;C;t=${__hawser_taken-};n=${__hawser_turn%%.*};h='$__hawser_key'\e\\'
	return "$code"
}

# The line is replaced by the file's, after its word. No command substitution here: in bash 5.2 it would spoil the parser.
__hawser_take() {
	local word=
	{
		IFS= builtin read -r word
		IFS= builtin read -r -d '' READLINE_LINE
	} <"$__hawser_file"
	__hawser_turn=${__hawser_turn%%.*}.$word
	READLINE_POINT=0
	__hawser_taken=1
	__hawser_line=${READLINE_LINE:0:800}
	if [[ $- == *H* ]]; then
		set +H
		__hawser_expands=1
	fi
}

if ((BASH_VERSINFO[0] * 100 + BASH_VERSINFO[1] >= 501)); then
	PROMPT_COMMAND=(__hawser_done ${PROMPT_COMMAND[@]+"${PROMPT_COMMAND[@]}"} __hawser_wrap)
else
	PROMPT_COMMAND="__hawser_done; ${PROMPT_COMMAND:+$PROMPT_COMMAND; }__hawser_wrap"
fi
# A shell below this one would not know the functions.
export -n PROMPT_COMMAND
for __hawser_map in emacs vi-insert vi-command; do
	bind -m "$__hawser_map" -x '"\e[7707;2~": __hawser_take'
	bind -m "$__hawser_map" '"\e[7707;1~": "\e[7707;2~\C-m"'
done
unset __hawser_map
