# What zsh reads as .zshenv in a session with hooks. While it starts, ZDOTDIR is ours, and each file of ours reads the
# user's with the user's ZDOTDIR; the marks come after .zshrc.
# The session puts __hawser_key, __hawser_file and __hawser_directory before this. Nothing of it is exported.

# The user's own ZDOTDIR, or none; and ours again, for the next file that zsh reads.
__hawser_out() {
	if [[ -n ${HAWSER_ZDOTDIR+x} ]]; then export ZDOTDIR=$HAWSER_ZDOTDIR; else unset ZDOTDIR; fi
	unset HAWSER_ZDOTDIR
}
__hawser_in() {
	[[ -n ${ZDOTDIR+x} ]] && HAWSER_ZDOTDIR=$ZDOTDIR
	ZDOTDIR=$__hawser_directory
}

# To the terminal, even after an `exec >file`.
__hawser_tell() {
	if [[ -t 1 ]]; then builtin print -rn -- "$1"; else builtin print -rn -- "$1" >/dev/tty; fi
}

__hawser_mark() { __hawser_tell $'\e]133;'"$1;h=$__hawser_key"$'\e\\' }

# The number of the line that comes next, so that no mark counts twice; and, once it was fetched, the word that came with
# it, which is shown at its end and never before. Unless it is the user's own, the mark at the end of output shows it, too.
__hawser_next() {
	[[ -n ${PROMPT_EOL_MARK-} ]] && PROMPT_EOL_MARK=${PROMPT_EOL_MARK/;n=$__hawser_turn;/;n=$1;}
	__hawser_turn=$1
}

__hawser_preexec() {
	local line=${1[1,800]}
	__hawser_ran=1
	line=${line//\\/\\\\}
	line=${line//;/\\x3b}
	line=${line//$'\n'/\\x0a}
	__hawser_tell $'\e]633;E;'"${line//[[:cntrl:]]/ };$__hawser_key"$'\e\\'
	__hawser_mark "C;t=${__hawser_taken-};n=${__hawser_turn%%.*}"
}

# First of all that is done before a prompt. Who has PROMPT_SP was told of the end before, where the output ended.
__hawser_done() {
	local code=$?
	[[ -n ${__hawser_ran-} ]] && __hawser_mark "D;$code;n=$__hawser_turn"
	__hawser_ran= __hawser_taken=
	__hawser_next $((${__hawser_turn%%.*} + 1))
	[[ -n ${__hawser_histchars-} && -z $histchars ]] && histchars=$__hawser_histchars
	__hawser_histchars=
	__hawser_tell $'\e]7;file://'"${HOST-}${PWD//\%/%25}"$'\e\\'
	return $code
}

# Last, because many build their prompts anew each time.
__hawser_wrap() {
	local code=$? key=h=$__hawser_key
	[[ ${PS1-} == *"133;B;$key"* ]] || PS1=$'%{\e]133;A;'$key$'\e\\%}'${PS1-}$'%{\e]133;B;'$key$'\e\\%}'
	# Those who came later would undo it.
	precmd_functions=(${precmd_functions:#__hawser_wrap} __hawser_wrap)
	[[ ${PS2-} == *"$key"* ]] || PS2=$'%{\e]133;P;k=s;'$key$'\e\\%}'${PS2-}
	return $code
}

# The line is replaced by the file's, after its word, and nothing in it stands for an older one. Without BANG_HIST only
# lines that begin later would be spared, but the characters count as they are read; the third is that of comments.
__hawser_take() {
	local text=$(<$__hawser_file)
	BUFFER=${text#*$'\n'}
	__hawser_next ${__hawser_turn%%.*}.${text%%$'\n'*}
	__hawser_taken=1
	__hawser_histchars=$histchars
	histchars=$'\0\0'${histchars:2:1}
	zle .accept-line
}

__hawser_install() {
	local map
	# zsh writes this mark where output ends without a newline, before anything else: there the command has ended.
	__hawser_turn=1
	PROMPT_EOL_MARK=$'%{\e]133;D;%?;n=1;h='$__hawser_key$'\e\\%}'${PROMPT_EOL_MARK-%B%S%#%s%b}
	precmd_functions=(__hawser_done $precmd_functions __hawser_wrap)
	preexec_functions+=(__hawser_preexec)
	zle -N __hawser_take
	for map in emacs viins vicmd; do bindkey -M $map '\e[7707;1~' __hawser_take; done
	# Some systems have it beside the other files.
	[[ ${HISTFILE-} == $__hawser_directory/* ]] && HISTFILE=${ZDOTDIR-$HOME}/${HISTFILE:t}
	unfunction __hawser_install __hawser_in __hawser_out
}

__hawser_out
[[ -r ${ZDOTDIR-$HOME}/.zshenv ]] && source ${ZDOTDIR-$HOME}/.zshenv
[[ -o interactive ]] && __hawser_in
true
