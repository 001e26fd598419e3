import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { forbiddenImports } from "../../scripts/layers.js";

const root = fileURLToPath(new URL("../..", import.meta.url));

/** A few imports of each layer: those it may have, and those it may not. */
const imports: { file: string; allowed: string[]; refused: string[] }[] = [
	{ file: "src/words/x.ts", allowed: ["./y.ts"], refused: ["../core/errors.ts", "node:fs"] },
	{ file: "src/async/x.ts", allowed: ["./y.ts"], refused: ["../words/y.ts", "../core/errors.ts", "node:timers"] },
	{
		file: "src/core/x.ts",
		allowed: ["./y.ts", "../words/y.ts", "../async/y.ts"],
		refused: ["node:fs", "fastify", "../api/y.ts"],
	},
	{
		file: "src/core/log/x.ts",
		allowed: ["./y.ts", "../errors.ts", "../async/y.ts", "../../async/y.ts", "../../words/y.ts"],
		refused: ["node:fs", "../session/y.ts", "../input/y.ts", "../../native/y.ts", "../../api/y.ts"],
	},
	{
		file: "src/core/session/x.ts",
		allowed: ["../log/y.ts", "../shell/y.ts", "../terminal/y.ts"],
		refused: ["../policy/y.ts", "../../disk/y.ts", "node:timers"],
	},
	{
		file: "src/core/policy/x.ts",
		allowed: ["../session/y.ts", "../input/y.ts"],
		refused: ["../secrets/y.ts", "../../access/y.ts", "node:crypto"],
	},
	{ file: "src/api/x.ts", allowed: ["./y.ts", "../words/y.ts"], refused: ["node:fs", "typebox", "../core/errors.ts"] },
	{
		file: "src/api/schema/x.ts",
		allowed: ["./y.ts", "../y.ts", "../../words/y.ts", "typebox"],
		refused: ["node:fs", "fastify", "../../core/errors.ts", "../../http/y.ts"],
	},
	{
		file: "src/http/x.ts",
		allowed: ["./y.ts", "../core/log/y.ts", "../api/schema/y.ts", "fastify"],
		refused: ["../services/feed/y.ts", "../fronts/native/y.ts", "../access/y.ts", "../disk/y.ts"],
	},
	{
		file: "src/services/feed/x.ts",
		allowed: ["../search/y.ts", "../../core/policy/y.ts", "../../disk/y.ts", "../../api/y.ts"],
		refused: ["../../http/y.ts", "../../fronts/native/y.ts", "../../access/y.ts", "../../server/y.ts", "fastify"],
	},
	{
		file: "src/native/x.ts",
		allowed: ["./y.ts", "node:fs", "../core/errors.ts", "../core/process/y.ts"],
		refused: ["../core/log/y.ts", "../backends/y.ts", "fastify"],
	},
	{
		file: "src/disk/x.ts",
		allowed: ["./y.ts", "node:fs/promises", "../core/errors.ts"],
		refused: ["../core/log/y.ts", "../native/y.ts", "../keeper/link/y.ts", "fastify"],
	},
	{
		file: "src/backends/x.ts",
		allowed: ["node:fs", "node:fs/promises", "../core/log/y.ts", "../native/y.ts"],
		refused: ["../journal/y.ts", "../keeper/link/y.ts", "../core/session/y.ts", "fastify"],
	},
	{
		file: "src/journal/x.ts",
		allowed: ["node:fs", "../core/log/y.ts", "../native/y.ts"],
		refused: ["../backends/y.ts", "../server/y.ts", "../core/session/y.ts"],
	},
	{
		file: "src/emulator/x.ts",
		allowed: ["./y.ts", "node:worker_threads", "../core/terminal/y.ts", "@xterm/headless"],
		refused: ["../core/session/y.ts", "../services/screens/y.ts", "../disk/y.ts", "../api/y.ts", "fastify"],
	},
	{
		file: "src/sandbox/x.ts",
		allowed: ["./y.ts", "node:fs/promises", "../core/process/y.ts", "../native/addon.ts"],
		refused: ["../backends/y.ts", "../http/front.ts", "../disk/y.ts", "../server/y.ts", "fastify"],
	},
	{
		file: "src/workspaces/x.ts",
		allowed: ["./y.ts", "node:fs/promises", "../core/session/y.ts", "../disk/y.ts"],
		refused: ["../access/y.ts", "../http/front.ts", "../server/y.ts", "../api/y.ts", "fastify"],
	},
	...["access", "audit"].map((room) => ({
		file: `src/${room}/x.ts`,
		allowed: ["./y.ts", "node:crypto", "../core/policy/y.ts", "../disk/y.ts"],
		refused: ["../http/front.ts", "../server/y.ts", "../api/y.ts", "../core/secrets/y.ts", "fastify"],
	})),
	{
		file: "src/services/webhooks/x.ts",
		allowed: ["./y.ts", "node:https", "../../core/errors.ts", "../../disk/y.ts"],
		refused: ["../../access/y.ts", "../../http/front.ts", "../../server/y.ts", "fastify"],
	},
	{
		file: "src/keeper/link/x.ts",
		allowed: ["node:net", "../../core/log/y.ts", "../../disk/y.ts", "../../native/y.ts"],
		refused: ["../process/y.ts", "../client/y.ts", "../../journal/y.ts", "../../core/policy/y.ts"],
	},
	...["process", "client"].map((room) => ({
		file: `src/keeper/${room}/x.ts`,
		allowed: ["node:net", "../link/y.ts", "../../backends/y.ts", "../../journal/y.ts"],
		refused: [
			room === "client" ? "../process/y.ts" : "../client/y.ts",
			"../../core/policy/y.ts",
			"../../server/y.ts",
			"../../http/front.ts",
			"../../api/y.ts",
			"fastify",
		],
	})),
	{
		file: "src/fronts/native/attach/x.ts",
		allowed: ["../access/y.ts", "../../../http/front.ts", "../../../services/screens/y.ts", "fastify"],
		refused: [
			"../../mcp/y.ts",
			"../../json-rpc/y.ts",
			"../../dropins/codex-exec/y.ts",
			"../../../backends/y.ts",
			"../../../server/y.ts",
		],
	},
	{
		file: "src/fronts/dropins/codex-app/processes/x.ts",
		allowed: ["../sandbox.ts", "../../../json-rpc/y.ts", "../../../../services/starts/y.ts"],
		refused: ["../../codex-exec/y.ts", "../../../native/y.ts", "../../../../sandbox/y.ts", "../../../../backends/y.ts"],
	},
	{
		file: "src/fronts/json-rpc/x.ts",
		allowed: ["./y.ts", "../../http/front.ts", "../../core/async/y.ts", "ws", "node:stream"],
		refused: ["../dropins/codex-exec/y.ts", "../native/y.ts", "../../server/y.ts"],
	},
	{
		file: "src/client/x.ts",
		allowed: ["./y.ts", "../api/y.ts", "../async/y.ts", "ws"],
		refused: ["node:http", "../core/errors.ts", "commander"],
	},
	{
		file: "src/client/node/x.ts",
		allowed: ["./y.ts", "../y.ts", "../../disk/state-path.ts", "../../disk/trusted-path.ts", "node:http"],
		refused: ["../../server/config.ts", "../../core/errors.ts", "../../cli/y.ts"],
	},
	{
		file: "src/cli/commands/x.ts",
		allowed: [
			"../y.ts",
			"../../client/y.ts",
			"../../async/y.ts",
			"../../server/y.ts",
			"../../core/terminal/queries.ts",
			"commander",
		],
		refused: ["../../core/errors.ts", "../../backends/y.ts", "../../keeper/client/y.ts"],
	},
	{
		file: "src/server/x.ts",
		allowed: [
			"../keeper/client/y.ts",
			"../http/front.ts",
			"../services/starts/prepare.ts",
			"../fronts/mcp/y.ts",
			"fastify",
		],
		refused: ["../cli/y.ts", "../client/y.ts", "../fronts/native/y.ts", "../fronts/native/attach/y.ts"],
	},
	{
		file: "web/state/x.ts",
		allowed: ["./y.ts", "hawser/client", "@preact/signals-core"],
		refused: ["../views/y.ts", "../terminal/y.ts", "../router.ts", "../../src/client/y.ts", "lit-html", "@xterm/xterm"],
	},
	{
		file: "web/terminal/x.ts",
		allowed: ["./y.ts", "../state/y.ts", "@xterm/xterm", "@xterm/addon-fit", "lit-html", "hawser/client"],
		refused: ["../views/y.ts", "../router.ts", "../../src/client/y.ts", "node:fs"],
	},
	{
		file: "web/views/x.ts",
		allowed: ["./y.ts", "../state/y.ts", "../terminal/y.ts", "../router.ts", "lit-html", "lit-html/directive.js"],
		refused: ["@xterm/xterm", "../main.ts", "../../src/client/y.ts", "node:fs"],
	},
];

/** Code that breaks one rule each. */
const offences: [rule: string, code: string][] = [
	["noImportCycles", 'import { b } from "./other.ts";\nexport const a: number = b;\n'],
	["noFloatingPromises", "async function go(): Promise<void> {}\nexport function start(): void {\n\tgo();\n}\n"],
	["noMisusedPromises", "async function go(): Promise<void> {}\nexport const x: boolean = go() ? true : false;\n"],
	[
		"useExhaustiveSwitchCases",
		'export function f(k: "a" | "b"): void {\n\tswitch (k) {\n\t\tcase "a":\n\t\t\tbreak;\n\t}\n}\n',
	],
	["noEnum", "export enum E {\n\tA,\n}\n"],
	["noNonNullAssertion", "export const f = (a: string | undefined): number => a!.length;\n"],
	["noConsole", 'console.log("x");\n'],
	["noExplicitAny", "export const x: any = 1;\n"],
];

let folder: string;
let report: string;
beforeAll(() => {
	folder = mkdtempSync(join(tmpdir(), "hawser-layers-"));
	cpSync(join(root, "biome.json"), join(folder, "biome.json"));
	const write = (path: string, code: string) => {
		mkdirSync(dirname(join(folder, path)), { recursive: true });
		writeFileSync(join(folder, path), code);
	};
	for (const [rule, code] of offences) write(`src/server/${rule}/bad.ts`, code);
	write("web/state/document.ts", "export const title: string = document.title;\n");
	write("web/state/fetch.ts", 'export const asked: Promise<Response> = fetch("/");\n');
	write("src/server/noImportCycles/other.ts", 'import { a } from "./bad.ts";\nexport const b: number = a;\n');
	const biome = join(root, "node_modules/@biomejs/biome/bin/biome");
	const args = [biome, "lint", "--reporter=github", "--max-diagnostics=none", "."];
	report = spawnSync(process.execPath, args, { cwd: folder, encoding: "utf8" }).stdout;
});
afterAll(() => rmSync(folder, { recursive: true }));

/** The error-level rules that are reported for a file. */
function reported(file: string): string[] {
	const lines = report.split("\n").filter((line) => line.startsWith("::error") && line.includes(`${file},`));
	return lines.map((line) => /title=lint\/\w+\/(\w+)/.exec(line)?.[1] ?? line);
}

describe.each(imports)("$file", ({ file, allowed, refused }) => {
	const problem = (module: string, form = `export * from "${module}";\n`) => forbiddenImports(file, form);
	it.each(allowed)("may import %s", (module) => expect(problem(module)).toEqual([]));
	it.each(refused)("may not import %s", (module) => {
		expect(problem(module)).toEqual([expect.stringContaining(`${file}: `)]);
		expect(problem(module, `import type {\n\tA,\n} from "${module}";\n`)).toHaveLength(1);
		expect(problem(module, `import "${module}";\n`)).toHaveLength(1);
		expect(problem(module, `const part = await import("${module}");\n`)).toHaveLength(1);
	});
});

it("the check of layers fails for a forbidden import in the tree, and passes for this one", () => {
	const check = (cwd: string) => spawnSync(process.execPath, ["scripts/layers.js"], { cwd, encoding: "utf8" });
	expect(check(root)).toMatchObject({ status: 0, stderr: "" });
	mkdirSync(join(folder, "scripts"), { recursive: true });
	cpSync(join(root, "scripts/layers.js"), join(folder, "scripts/layers.js"));
	mkdirSync(join(folder, "src/core/log"), { recursive: true });
	writeFileSync(join(folder, "src/core/log/bad.ts"), 'export * from "../../server/server.ts";\n');
	const { status, stderr } = check(folder);
	expect(status).toBe(1);
	expect(stderr).toContain("src/core/log/bad.ts: src/core/log may not import src/server/server.ts (scripts/layers.js)");
});

it.each(offences)("%s is an error", (rule) => {
	expect(reported(`src/server/${rule}/bad.ts`)).toContain(rule);
});

it.each(["document", "fetch"])("the state of the web UI may not use %s", (name) => {
	expect(reported(`web/state/${name}.ts`)).toContain("noRestrictedGlobals");
});
