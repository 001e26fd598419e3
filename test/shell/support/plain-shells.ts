/** Shells without hooks, and commands whose end can be observed from outside. */

export const plainShells = ["dash", "bash", "zsh", "fish"] as const;
export type PlainShellName = (typeof plainShells)[number];

/** Without the user's files and without our hooks. */
export const plainArguments: Readonly<Record<PlainShellName, readonly string[]>> = {
	dash: [],
	bash: ["--norc"],
	zsh: ["-f"],
	fish: ["--no-config"],
};

/** Each takes up to some hundredths of a second and finally prints `END-n`. */
export function slowCommands(count: number): { readonly command: string; readonly last: string }[] {
	return Array.from({ length: count }, (_, index) => {
		const pause = ["", "sleep 0.01; ", "sleep 0.03; ", "echo half; sleep 0.025; "][index % 4];
		return { command: `${pause}printf 'END-%s\\n' ${index}`, last: `END-${index}\n` };
	});
}
