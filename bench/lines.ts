/** Lines with escape sequences, as programs write them to terminals. */

/** Five sequences per line: more than compilers, tests and listings write. */
export const COLOURED_LINE =
	"\u001b[1;32m  ok\u001b[0m a test that passes, with its name in full \u001b[2m(\u001b[38;5;244m12 ms)\u001b[0m\n";
/** Format of `ls --hyperlink`. */
export const LINKED_LINE: string = "\u001b]8;;file://host/srv/app/source.ts\u0007source.ts\u001b]8;;\u0007  "
	.repeat(3)
	.concat("\n");
