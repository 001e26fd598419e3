/** A planned start of a program, as a gate judges it and an approver sees it. */

import type { Command } from "../process/process.ts";
import type { SessionStart } from "../session/session-info.ts";

/** The default directory and variables. Only differences are shown. */
type UsualPlace = {
	readonly cwd: string;
	readonly env: Readonly<Record<string, string>>;
};

/** A start as a front requests it. Only the gate uses `usual`. */
export type RequestedStart = SessionStart & { readonly usual: UsualPlace };

/**
 * Everything that determines what a program does, whether it comes from the request, a task, a stored command or the
 * front.
 */
export type PlannedProgram = Pick<Command, "argv" | "cwd" | "env"> &
	Partial<Pick<Command, "arg0" | "mode" | "stdin" | "stderr" | "uid" | "gid" | "groups" | "sandbox">>;

export type PlannedStart = {
	/** The future session, or the place where the program is stored. */
	readonly place: { readonly id: string; readonly name: string | null; readonly workspace: string };
	readonly program: PlannedProgram;
	/** Commands that the program runs in addition to its arguments. */
	readonly script: string;
	readonly usual: UsualPlace;
};

type PlannedTexts = {
	/** The text that a gate's expressions are matched against. */
	readonly judged: string;
	readonly shown: string;
	/** Differs between any two starts that run something different. */
	readonly whole: Uint8Array;
	/** Whether a variable determines what is run. */
	readonly hasCode: boolean;
};

/**
 * Variables that are code or say where code is found. They are shown with their values; the values of others may be
 * secrets. A variable that is missing here is still shown by name, judged, and part of what is approved.
 */
const CODE = new RegExp(
	`^(?!.*(?:PASSWORD|BECOME_PASS|SECRET|TOKEN))(?:${[
		// Loaders and the C library.
		"(?:LD|DYLD|GLIBC|GCONV|NLS)_?\\w+|MALLOC_\\w+",
		// Shells.
		"BASH_(?:ENV|LOADABLES_PATH|FUNC_.*)|BASHOPTS|SHELLOPTS|ENV|ZDOTDIR|FPATH|PATH|CDPATH|IFS|SHELL|PROMPT_COMMAND|fish_\\w+",
		"PS[0-4]|R?PROMPT|INPUTRC|HOME|XDG_\\w+|TERMINFO(?:_DIRS)?|FZF_DEFAULT_\\w+|STARSHIP_CONFIG|DIRENV_\\w+",
		// Helpers that other programs start.
		"\\w*(?:EDITOR|PAGER|ASKPASS)|(?:\\w+_)?(?:BROWSER|RSH)|VISUAL|LESS\\w*|FCEDIT|MAILER|SSH_\\w*COMMAND",
		"GIT_(?:CONFIG\\w*|SSH\\w*|EXEC_PATH|EXTERNAL_DIFF|TEMPLATE_DIR|PROXY_COMMAND|DIR|COMMON_DIR|WORK_TREE)",
		"(?:TAR|GREP|RSYNC|PARALLEL|VALGRIND)_\\w*(?:OPTIONS|OPTS|PROG)|RIPGREP_CONFIG_PATH|OPENSSL_\\w+|KUBECONFIG|DOCKER_(?:CONFIG|CONTEXT|HOST)|TMUX",
		"AWS_CONFIG_FILE|GNUPGHOME|CURL_HOME|WGETRC|SCREENRC|ANSIBLE_\\w+|VIM(?:INIT|RUNTIME)?|G?VIMINIT|EXINIT|EMACSLOADPATH|PSQLRC|GTK_\\w+|GIO_\\w+|QT_\\w+",
		// Builds.
		"(?:GNU)?MAKE\\w*|GCC_EXEC_PREFIX|COMPILER_PATH|GETCONF_DIR|GROFF_COMMAND_PREFIX|MFLAGS|CC|CXX|CPP|LD|AR|\\w*(?:C|CXX|CPP|LD|GO|RUST)FLAGS|CMAKE_\\w+|PKG_CONFIG\\w*",
		"RUSTC\\w*|RUSTDOC\\w*|CARGO_\\w+|GOROOT|GOPATH|GOTOOLCHAIN|GOENV",
		// Interpreters.
		"NODE_(?:OPTIONS|PATH|REPL_EXTERNAL_MODULE)|ELECTRON_RUN_AS_NODE|NPM_CONFIG_(?:\\w*SHELL|NODE_OPTIONS|\\w*CONFIG|PREFIX|EDITOR|GIT)",
		"BUN_OPTIONS|DENO_\\w+|PYTHON\\w+|PERL5?(?:LIB|OPT|DB)\\w*|RUBY\\w+|GEM_(?:HOME|PATH)|BUNDLE_GEMFILE",
		"(?:PIP|UV)_CONFIG_FILE|GUILE_\\w+|AWK(?:LIB)?PATH|JAVA_HOME|LUA_\\w+|PHPRC|PHP_INI_SCAN_DIR|(?:_?JAVA|JDK_JAVA|MAVEN|GRADLE|SBT)_(?:TOOL_)?(?:OPTIONS|OPTS)|CLASSPATH",
		"DOTNET_\\w+|CORECLR_\\w+|COR_\\w+|ERL_\\w+|ELIXIR_\\w+|R_(?:PROFILE|ENVIRON|HOME|LIBS)\\w*|JULIA_\\w+|TCLLIBPATH",
	].join("|")})$`,
	"i",
);

/** How older shells export functions. */
const FUNCTION = /^\(\)\s*\{/;

export function textsOf({ program, script, usual }: PlannedStart): PlannedTexts {
	const { argv, arg0, cwd, env, ...how } = program;
	const changes = changesOf(usual.env, env);
	const isCode = ([name, value]: Change) => CODE.test(name) || FUNCTION.test(value ?? "");
	const code = changes.filter(isCode);
	const others = changes.filter((change) => !isCode(change));
	const run = [...(argv.length === 0 ? [] : [argv.join(" ")]), ...(script === "" ? [] : [script])];
	const directory = cwd === usual.cwd ? [] : [cwd];
	const user =
		how.uid === undefined && how.gid === undefined ? [] : [`user ${how.uid ?? "-"}, group ${how.gid ?? "-"}`];
	const called = arg0 === undefined ? [] : [[arg0, ...argv.slice(1)].join(" ")];
	return {
		judged: [...run, ...called, ...directory, ...changes.map(assignment)].join("\n"),
		shown: [
			...run,
			...(arg0 === undefined ? [] : [`argv[0]: ${oneLine(arg0)}`]),
			...directory.map((path) => `in ${oneLine(path)}`),
			...user,
			// First, because the end of a long list may be cut off.
			...code.map((change) => `code: ${oneLine(assignment(change))}`),
			...(others.length === 0 ? [] : [`with ${others.map(([name, value]) => nameOf(name, value)).join(" ")}`]),
		].join("\n"),
		whole: new TextEncoder().encode(JSON.stringify({ argv, arg0, script, cwd, changes, ...sorted(how) })),
		hasCode: code.length > 0,
	};
}

/** A variable with its value; null if it is removed from the usual environment. */
type Change = readonly [name: string, value: string | null];

function changesOf(usual: UsualPlace["env"], env: UsualPlace["env"]): readonly Change[] {
	const set = Object.entries(env).filter(([name, value]) => !Object.hasOwn(usual, name) || usual[name] !== value);
	const removed = Object.keys(usual).filter((name) => !Object.hasOwn(env, name));
	return [...set, ...removed.map((name) => [name, null] as const)].sort(([a], [b]) => (a < b ? -1 : 1));
}

function assignment([name, value]: Change): string {
	return value === null ? `-${name}` : `${name}=${value}`;
}

function nameOf(name: string, value: string | null): string {
	return oneLine(value === null ? `-${name}` : `${name}=…`);
}

/** Escapes line breaks, so that a name or value can't imitate another line of the preview. */
function oneLine(text: string): string {
	return text.replace(/[\r\n]/g, (character) => (character === "\n" ? "\\n" : "\\r"));
}

function sorted(fields: object): object {
	return Object.fromEntries(Object.entries(fields).sort(([a], [b]) => (a < b ? -1 : 1)));
}
