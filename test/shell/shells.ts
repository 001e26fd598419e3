/** Living shells for tests: with hooks, and with the user's own files that decorate everything. */

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { onTestFinished } from "vitest";
import { systemClock } from "../../src/backends/clock.ts";
import { spawn } from "../../src/backends/spawn.ts";
import { LocalSession } from "../../src/core/local-session.ts";
import type { Session } from "../../src/core/session.ts";
import { shellText } from "../../src/core/shell-output.ts";
import type { RunAnswer } from "../../src/core/shell-runner.ts";
import { withHooks } from "../../src/shell/hooks.ts";
import { startOf } from "../helpers/starts.ts";

export const shells = ["bash", "zsh", "fish"] as const;
export type ShellName = (typeof shells)[number];

/** A prompt that is built anew each time, in several lines and colours, with hooks of its own that look at `$?`. */
const DECORATED: Readonly<Record<ShellName, Readonly<Record<string, string>>>> = {
	bash: {
		".bashrc": String.raw`
			set -o vi
			export PS1='\u@\h:\w\$ '
			trap 'true' DEBUG
			__own() { local code=$?; PS1="\n\[\e[32m\]$code\[\e[0m\] \w\n> "; history -a; return $code; }
			PROMPT_COMMAND=__own
			PS0='\e[1m\e[0m'
			HISTCONTROL=ignoreboth
			HISTSIZE=10000
			alias ls='ls --color=auto'
		`,
	},
	zsh: {
		".zshrc": String.raw`
			bindkey -v
			setopt promptsubst extendedhistory sharehistory
			HISTFILE=~/.history HISTSIZE=1000 SAVEHIST=1000
			precmd() { own_code=$? }
			own_precmd() { PROMPT=$'\n%F{green}'$own_code$'%f %~\n> ' RPROMPT='%T' }
			own_preexec() { print -n "\e]0;$1\a" }
			autoload -Uz add-zsh-hook
			add-zsh-hook precmd own_precmd
			add-zsh-hook preexec own_preexec
		`,
	},
	fish: {
		".config/fish/config.fish": `
			fish_vi_key_bindings
			set -g fish_greeting hello
			function fish_prompt
				set -l code $status
				echo
				set_color green
				echo -n $code (prompt_pwd)
				set_color normal
				echo
				echo -n '> '
			end
			function fish_right_prompt
				date +%T
			end
		`,
	},
};

export type LivingShell = {
	readonly session: LocalSession;
	readonly home: string;
	run(command: string, timeoutMs?: number): Promise<RunAnswer & { readonly text: string }>;
};

export type ShellOptions = {
	readonly isDecorated?: boolean;
	readonly files?: Readonly<Record<string, string>>;
	readonly arguments?: readonly string[];
	readonly env?: Readonly<Record<string, string>>;
};

/** Is ended with the test. */
export async function startShell(name: ShellName, options: ShellOptions = {}): Promise<LivingShell> {
	const home = mkdtempSync(join(tmpdir(), "hawser-shell-"));
	const files = { ...(options.isDecorated ? DECORATED[name] : {}), ...options.files };
	if (name === "zsh" && !(".zshrc" in files)) writeFileSync(join(home, ".zshrc"), "");
	for (const [path, text] of Object.entries(files)) {
		mkdirSync(dirname(join(home, path)), { recursive: true });
		writeFileSync(join(home, path), text);
	}
	const start = startOf([name, ...(options.arguments ?? [])], { cwd: home, shellHooks: true, answersQueries: true });
	const env = { ...start.command.env, HOME: home, TERM: "xterm-256color", ...options.env };
	const asked = { ...start, command: { ...start.command, env } };
	const hooked = await withHooks(asked, join(home, ".hooks"));
	const session = await LocalSession.start(hooked?.start ?? asked, {
		spawn,
		clock: systemClock,
		shellHooks: hooked?.hooks,
	});
	onTestFinished(async () => {
		await session.kill({ graceMs: 0 });
		rmSync(home, { recursive: true, force: true });
	});
	return {
		session,
		home,
		async run(command, timeoutMs = 10_000) {
			const answer = await session.run({ command, timeoutMs, options: {} });
			return { ...answer, text: await textOf(session, answer.output) };
		},
	};
}

/** The text of a range of output. */
export async function textOf(session: Session, { from, to }: { from: number; to: number }): Promise<string> {
	const bytes: Uint8Array[] = [];
	if (from === to) return "";
	for await (const item of session.follow({ offset: from })) {
		if (item.kind !== "output") continue;
		bytes.push(item.bytes.subarray(0, to - item.offset));
		if (item.offset + item.bytes.byteLength >= to) break;
	}
	return shellText(Buffer.concat(bytes));
}
