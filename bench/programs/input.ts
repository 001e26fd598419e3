/** How a measuring child gets its input and gives its result. */

export function readInput<Input>(): Input & { readonly directory: string } {
	return JSON.parse(process.argv[2] ?? "{}") as Input & { readonly directory: string };
}

export function say(line: string): void {
	process.stdout.write(`${line}\n`);
}

/** The last thing a program does: whatever still holds the loop does not matter any more. */
export function finish(result: Readonly<Record<string, number>>): void {
	process.stdout.write(`${JSON.stringify(result)}\n`, () => process.exit());
}
