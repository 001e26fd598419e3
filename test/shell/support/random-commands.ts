/** Random commands that run in bash, zsh and fish, with their output and exit codes. */

export type RandomCommand = { readonly command: string; readonly text: string; readonly exitCode: number };

/** The same commands for the same seed. */
export function randomCommands(count: number, seed: number): RandomCommand[] {
	let state = seed;
	const random = (below: number) => {
		state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff;
		return (state >>> 8) % below;
	};
	const word = () =>
		["alpha", "bêta", "γ", "日本", "x!y", "a b", "tab\there", "semi;colon", "$HOME", "🎉"][random(10)] ?? "";
	const makers: (() => RandomCommand)[] = [
		() => {
			const text = word();
			return { command: `printf '%s\\n' '${text}'`, text: `${text}\n`, exitCode: 0 };
		},
		() => {
			const exitCode = random(256);
			return { command: `sh -c 'exit ${exitCode}'`, text: "", exitCode };
		},
		() => {
			const lines = 1 + random(3_000);
			const text = Array.from({ length: lines }, (_, index) => `${index + 1}\n`).join("");
			return { command: `seq 1 ${lines}`, text, exitCode: 0 };
		},
		() => {
			const [first, second] = [word(), word()];
			const exitCode = random(4);
			const command = `printf '%s' '${first}'\nprintf '%s' '${second}' | cat\nsh -c 'exit ${exitCode}'`;
			return { command, text: first + second, exitCode };
		},
		() => ({ command: `sh -c 'echo out; echo err >&2; exit 143'`, text: "out\nerr\n", exitCode: 143 }),
		() => {
			const bytes = 1 + random(60_000);
			return { command: `head -c ${bytes} /dev/zero | tr '\\0' a`, text: "a".repeat(bytes), exitCode: 0 };
		},
		() => {
			const text = Array.from({ length: 1 + random(8) }, () => `${word()}\n`).join("");
			return { command: `printf '%s' '${text}' | sort >/dev/null && printf '%s' '${text}'`, text, exitCode: 0 };
		},
		() => ({ command: "false && echo never", text: "", exitCode: 1 }),
		() => ({ command: "  true", text: "", exitCode: 0 }),
	];
	return Array.from(
		{ length: count },
		() => makers[random(makers.length)]?.() ?? { command: "true", text: "", exitCode: 0 },
	);
}
