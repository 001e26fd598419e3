/** Flags of `hawser execd` as the program that it stands in for takes them. */

const goFlags = ["port", "access-token", "graceful-shutdown-timeout", "log-level", "jupyter-host", "jupyter-token"];

/** The original is a Go program: one dash is as good as two. */
export function withGoFlags(argv: readonly string[]): string[] {
	if (argv[2] !== "execd") return [...argv];
	return argv.map((word) => (goFlags.includes(word.replace(/^-|=.*$/gs, "")) ? `-${word}` : word));
}
