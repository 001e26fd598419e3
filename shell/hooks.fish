# The file that fish reads after its configuration in a session with hooks.
# The session puts __hawser_key and __hawser_file before this. None of them is exported.

# The number of the next line, so that no mark counts twice, and the word of a fetched line, which appears at its end and
# never before.
set -g __hawser_turn 1
set -g __hawser_word

function __hawser_mark
	printf '\e]133;%s;h=%s\e\\' $argv[1] $__hawser_key
end

function __hawser_preexec --on-event fish_preexec
	set -l line (string sub -l 800 -- "$argv[1]" | string replace -a '\\' '\\\\' | string replace -a ';' '\\x3b')
	printf '\e]633;E;%s;%s\e\\' (string join '\\x0a' -- $line | string replace -ar '[[:cntrl:]]' ' ') $__hawser_key
	__hawser_mark "C;t=$__hawser_taken;n=$__hawser_turn"
end

function __hawser_end
	__hawser_mark "D;$argv[1];n=$__hawser_turn.$__hawser_word"
	set -g __hawser_turn (math $__hawser_turn + 1)
	set -g __hawser_word
	set -e __hawser_taken
end

function __hawser_place
	printf '\e]7;file://%s%s\e\\' (string escape --style=url -- $hostname) (string replace -a % %25 -- $PWD)
end

function __hawser_postexec --on-event fish_postexec
	__hawser_end $status
	__hawser_place
end

# Replaces the line by the file's content, followed by its word. A line that fish would not run is not left in the editor.
# The reason is reported without the name of our file, which would not help the user.
function __hawser_take
	set -l text (string collect <$__hawser_file)
	set -g __hawser_word (string sub -l 24 -- "$text")
	set text (string sub -s 26 -- "$text" | string collect)
	commandline -r -- "$text"
	commandline --is-valid
	switch $status
		case 0
			set -g __hawser_taken 1
			commandline -f execute
		case 2
			commandline -r ''
			__hawser_end incomplete
			commandline -f repaint
		case '*'
			commandline -r ''
			echo
			printf '%s\n' "$text" | command fish --no-execute 2>&1
			__hawser_end 127
			commandline -f repaint
	end
end

# Reports whether the line has text, which a fetched command would replace.
function __hawser_look
	set -l line (commandline | string collect)
	set -l has
	test -n "$line"; and set has 1
	__hawser_mark "T;$has"
end

for map in default insert
	bind -M $map \e'[7707;1~' __hawser_take
	bind -M $map \e'[7707;3~' __hawser_look
end

# Adds the marks to the user's prompt, also when the user defines another one later.
function __hawser_wrap --on-event fish_prompt
	functions fish_prompt | string match -q '*__hawser_mark*'; and return
	functions -e __hawser_prompt
	functions -q fish_prompt; and functions -c fish_prompt __hawser_prompt
	function fish_prompt
		set -l code $status
		__hawser_mark A
		# The prompt may show the status of the last command.
		functions -q __hawser_prompt; and begin
			test $code -eq 0; or __hawser_status $code
			__hawser_prompt
		end
		__hawser_mark B
	end
end
__hawser_wrap
function __hawser_status
	return $argv[1]
end

__hawser_place
