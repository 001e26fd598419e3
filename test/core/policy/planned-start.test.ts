/** How a start is judged, shown, and distinguished from others. */

import { expect, it } from "vitest";
import { type PlannedProgram, textsOf } from "../../../src/core/policy/planned-start.ts";

const usual = { cwd: "/home/me", env: { PATH: "/bin", LANG: "C" } };
const place = { id: "s", name: null, workspace: "default" };

function texts(program: Partial<PlannedProgram>, script = "") {
	const whole: PlannedProgram = { argv: ["make"], ...usual, ...program };
	const { judged, shown, whole: bytes, hasCode } = textsOf({ place, program: whole, script, usual });
	return { judged, shown, hasCode, bytes: new TextDecoder().decode(bytes) };
}

const withVariable = (name: string, value = "x") => texts({ env: { ...usual.env, [name]: value } });

it("a usual start is shown by its arguments alone", () => {
	expect(texts({})).toMatchObject({ judged: "make", shown: "make", hasCode: false });
});

it("everything unusual is judged and shown, code first, and values of other variables are only judged", () => {
	const env = { PATH: "/evil", TOKEN: "t0ken", A: "1" };
	const { judged, shown } = texts({ cwd: "/srv", arg0: "-make", uid: 0, gid: 7, env }, "echo script");
	expect(shown.split("\n")).toEqual([
		"make",
		"echo script",
		"argv[0]: -make",
		"in /srv",
		"user 0, group 7",
		"code: PATH=/evil",
		"with A=… -LANG TOKEN=…",
	]);
	expect(judged.split("\n")).toEqual([
		"make",
		"echo script",
		"-make",
		"/srv",
		"A=1",
		"-LANG",
		"PATH=/evil",
		"TOKEN=t0ken",
	]);
});

it.each([
	..."BASH_ENV ENV BASH_FUNC_ls%% ZDOTDIR PATH IFS SHELL SHELLOPTS PROMPT_COMMAND PS0 PS4 HOME XDG_CONFIG_HOME".split(
		" ",
	),
	..."LD_PRELOAD LD_LIBRARY_PATH LD_AUDIT DYLD_INSERT_LIBRARIES GLIBC_TUNABLES GCONV_PATH".split(" "),
	..."GIT_CONFIG_COUNT GIT_CONFIG_KEY_0 GIT_CONFIG_VALUE_0 GIT_CONFIG_GLOBAL GIT_CONFIG_PARAMETERS".split(" "),
	..."GIT_SSH GIT_SSH_COMMAND GIT_EDITOR GIT_SEQUENCE_EDITOR GIT_PAGER GIT_ASKPASS GIT_EXTERNAL_DIFF GIT_DIR".split(
		" ",
	),
	..."EDITOR VISUAL PAGER MANPAGER SUDO_ASKPASS BROWSER LESSOPEN LESSCLOSE".split(" "),
	..."MAKEFLAGS GNUMAKEFLAGS MAKEFILES MAKESHELL CC CFLAGS LDFLAGS RUSTFLAGS GOFLAGS RUSTC_WRAPPER".split(" "),
	..."NODE_OPTIONS NODE_PATH PYTHONSTARTUP PYTHONPATH PERL5OPT PERL5LIB PERLLIB RUBYOPT RUBYLIB".split(" "),
	..."fish_function_path fish_user_paths TMUX DOCKER_HOST DOCKER_CONTEXT ELECTRON_RUN_AS_NODE".split(" "),
	..."GCC_EXEC_PREFIX COMPILER_PATH GETCONF_DIR GUILE_LOAD_PATH AWKPATH AWKLIBPATH GROFF_COMMAND_PREFIX".split(" "),
	..."PIP_CONFIG_FILE UV_CONFIG_FILE JAVA_HOME GNUPGHOME CURL_HOME WGETRC SCREENRC".split(" "),
	..."JAVA_TOOL_OPTIONS _JAVA_OPTIONS JDK_JAVA_OPTIONS CLASSPATH npm_config_script_shell LUA_INIT".split(" "),
])("the variable %s is code and is shown with its value", (name) => {
	const { shown, hasCode } = withVariable(name);
	expect([shown, hasCode]).toEqual([`make\ncode: ${name}=x`, true]);
});

it.each(["API_KEY", "GIT_TOKEN", "CARGO_REGISTRY_TOKEN", "NPM_TOKEN", "AWS_SECRET_ACCESS_KEY", "PASSWORD", "TERM"])(
	"the value of the variable %s is not shown",
	(name) => {
		expect(withVariable(name, "hidden").shown).toBe(`make\nwith ${name}=…`);
	},
);

it("a function in a variable is code under any name", () => {
	expect(withVariable("x", "() { rm -rf it; }").shown).toBe("make\ncode: x=() { rm -rf it; }");
});

it("a line break in a name, a value, a directory or argv[0] starts no new line in the preview", () => {
	const env = { ...usual.env, "A\nin": "1", BASH_ENV: "/a\nin /safe" };
	const { shown, judged } = texts({ cwd: "/b\nc", arg0: "d\re", env });
	expect(shown.split("\n")).toEqual([
		"make",
		"argv[0]: d\\re",
		"in /b\\nc",
		"code: BASH_ENV=/a\\nin /safe",
		"with A\\nin=…",
	]);
	expect(judged).toContain("BASH_ENV=/a\nin /safe");
});

it("starts that run something else have other bytes, and the order of variables does not count", () => {
	const different = [
		texts({}),
		texts({ argv: ["a b"] }),
		texts({ argv: ["a", "b"] }),
		texts({ argv: ["make", "a\nb"] }),
		texts({ argv: ["make", "a"] }, "b"),
		texts({ arg0: "a" }),
		texts({ cwd: "/a" }),
		texts({ uid: 0 }),
		texts({ gid: 0 }),
		texts({ groups: [0] }),
		texts({ mode: "pty" }),
		texts({ stdin: "closed" }),
		texts({ sandbox: { type: "readOnly" } }),
		texts({ sandbox: { type: "readOnly", networkAccess: true } }),
		withVariable("A", "1"),
		withVariable("A", "2"),
		withVariable("B", "1"),
		texts({ env: { ...usual.env, A: "1\nB=2" } }),
		texts({ env: { ...usual.env, A: "1", B: "2" } }),
		texts({ env: {} }),
		texts({ env: { PATH: "/bin" } }),
	];
	expect(new Set(different.map(({ bytes }) => bytes)).size).toBe(different.length);
	expect(texts({ env: { B: "2", A: "1" } }).bytes).toBe(texts({ env: { A: "1", B: "2" } }).bytes);
});
