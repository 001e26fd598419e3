/** Input and output of measuring child processes. */

export function readInput<Input>(): Input & { readonly directory: string } {
	return JSON.parse(process.argv[2] ?? "{}") as Input & { readonly directory: string };
}

export function say(line: string): void {
	process.stdout.write(`${line}\n`);
}

/** Prints the result and exits, even if something still keeps the event loop alive. */
export function finish(result: Readonly<Record<string, number>>): void {
	process.stdout.write(`${JSON.stringify(result)}\n`, () => process.exit());
}
