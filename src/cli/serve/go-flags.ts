/** Accepts Go-style flags for `hawser execd`. */

const goFlags = ["port", "access-token", "graceful-shutdown-timeout", "log-level", "jupyter-host", "jupyter-token"];

/** The original execd is a Go program and accepts one dash or two. */
export function withGoFlags(argv: readonly string[]): string[] {
	if (argv[2] !== "execd") return [...argv];
	return argv.map((word) => (goFlags.includes(word.replace(/^-|=.*$/gs, "")) ? `-${word}` : word));
}
