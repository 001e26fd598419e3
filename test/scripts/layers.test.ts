import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

const root = fileURLToPath(new URL("../..", import.meta.url));

/** Which imports each layer may have, and which it may not. */
const layers: { file: string; allowed: string[]; refused: string[] }[] = [
	{ file: "src/core/x.ts", allowed: ["./y.ts"], refused: ["node:fs", "fastify", "../protocol/y.ts", "../native/y.ts"] },
	{ file: "src/protocol/x.ts", allowed: ["./y.ts"], refused: ["node:fs", "typebox", "../core/errors.ts"] },
	{
		file: "src/native/x.ts",
		allowed: ["./y.ts", "node:fs", "../core/errors.ts"],
		refused: ["../core/log.ts", "../backends/y.ts", "fastify"],
	},
	{
		file: "src/backends/x.ts",
		allowed: ["node:fs", "node:fs/promises", "../core/log.ts", "../native/y.ts"],
		refused: ["../journal/y.ts", "../keeper/y.ts", "fastify"],
	},
	{
		file: "src/journal/x.ts",
		allowed: ["node:fs", "node:fs/promises", "../core/log.ts", "../native/y.ts"],
		refused: ["../backends/y.ts", "../server/y.ts"],
	},
	{
		file: "src/disk/x.ts",
		allowed: ["./y.ts", "node:fs/promises", "../core/errors.ts"],
		refused: ["../core/log.ts", "../native/y.ts", "../keeper/y.ts", "fastify"],
	},
	{
		file: "src/screen/x.ts",
		allowed: ["./y.ts", "node:worker_threads", "../core/screen.ts", "../disk/y.ts", "@xterm/headless"],
		refused: [
			"../journal/y.ts",
			"../keepers/y.ts",
			"../fronts/front.ts",
			"../server/y.ts",
			"../protocol/y.ts",
			"fastify",
		],
	},
	{
		file: "src/shell/x.ts",
		allowed: ["./y.ts", "node:fs/promises", "../core/process.ts"],
		refused: ["../disk/y.ts", "../native/y.ts", "../keeper/y.ts", "../protocol/y.ts"],
	},
	{
		file: "src/audit/x.ts",
		allowed: ["./y.ts", "node:crypto", "../core/audit.ts", "../disk/y.ts"],
		refused: ["../access/y.ts", "../fronts/front.ts", "../server/y.ts", "../protocol/y.ts", "fastify"],
	},
	{
		file: "src/access/x.ts",
		allowed: ["./y.ts", "node:crypto", "../core/errors.ts", "../disk/y.ts"],
		refused: ["../fronts/front.ts", "../server/y.ts", "../protocol/y.ts", "fastify"],
	},
	{
		file: "src/workspaces/x.ts",
		allowed: ["./y.ts", "node:fs/promises", "../core/errors.ts", "../disk/y.ts"],
		refused: ["../access/y.ts", "../fronts/front.ts", "../server/y.ts", "../protocol/y.ts", "fastify"],
	},
	{
		file: "src/webhooks/x.ts",
		allowed: ["./y.ts", "node:https", "../core/errors.ts", "../disk/y.ts"],
		refused: ["../access/y.ts", "../fronts/front.ts", "../server/y.ts", "../protocol/y.ts", "fastify"],
	},
	{
		file: "src/sandbox/x.ts",
		allowed: ["./y.ts", "node:fs/promises", "../core/process.ts", "../native/addon.ts"],
		refused: ["../backends/y.ts", "../fronts/front.ts", "../disk/y.ts", "../server/y.ts", "fastify"],
	},
	{
		file: "src/link/x.ts",
		allowed: ["node:net", "../core/log.ts", "../disk/y.ts", "../native/y.ts", "../backends/y.ts"],
		refused: ["../keeper/y.ts", "../keepers/y.ts", "../journal/y.ts", "../server/y.ts"],
	},
	{
		file: "src/keeper/x.ts",
		allowed: ["node:net", "../core/log.ts", "../disk/y.ts", "../backends/y.ts", "../journal/y.ts", "../link/y.ts"],
		refused: ["../keepers/y.ts", "../server/y.ts", "../fronts/front.ts", "../protocol/y.ts", "fastify"],
	},
	{
		file: "src/keepers/x.ts",
		allowed: ["node:net", "../core/log.ts", "../disk/y.ts", "../backends/y.ts", "../journal/y.ts", "../link/y.ts"],
		refused: ["../keeper/y.ts", "../server/y.ts", "../fronts/front.ts", "../protocol/y.ts", "fastify"],
	},
	{
		file: "src/fronts/x.ts",
		allowed: ["./front.ts", "../core/log.ts", "../protocol/y.ts", "fastify"],
		refused: ["./native/y.ts", "../backends/y.ts"],
	},
	{
		file: "src/fronts/native/x.ts",
		allowed: [
			"./y.ts",
			"../front.ts",
			"../errors.ts",
			"../json-rpc/y.ts",
			"../../core/log.ts",
			"../../protocol/y.ts",
			"fastify",
			"node:http",
		],
		refused: ["../prepare.ts", "../codex-exec/y.ts", "../../backends/y.ts", "../../journal/y.ts", "../../server/y.ts"],
	},
	{
		file: "src/fronts/native/socket/x.ts",
		allowed: [
			"./y.ts",
			"../y.ts",
			"../access/y.ts",
			"../../front.ts",
			"../../errors.ts",
			"../../json-rpc/y.ts",
			"../../../core/log.ts",
			"../../../protocol/y.ts",
			"fastify",
		],
		refused: ["../../prepare.ts", "../../codex-exec/y.ts", "../../../backends/y.ts", "../../../server/y.ts"],
	},
	{
		file: "src/fronts/codex-app/processes/x.ts",
		allowed: ["../sandbox.ts", "../../json-rpc/y.ts", "../../session-scope.ts", "../../../core/output-cap.ts"],
		refused: ["../../prepare.ts", "../../codex-exec/y.ts", "../../../sandbox/y.ts", "../../../backends/y.ts"],
	},
	{
		file: "src/fronts/json-rpc/x.ts",
		allowed: ["./y.ts", "../front.ts", "../../core/change.ts", "ws", "node:stream"],
		refused: ["../prepare.ts", "../codex-exec/y.ts", "../../server/y.ts"],
	},
	{
		file: "src/client/x.ts",
		allowed: ["./y.ts", "../protocol/y.ts", "ws"],
		refused: ["node:http", "../core/errors.ts", "commander"],
	},
	{
		file: "src/local/x.ts",
		allowed: ["./y.ts", "../client/y.ts", "../server/config.ts", "../server/trusted-path.ts", "node:http"],
		refused: ["../server/server.ts", "../core/errors.ts", "../cli/y.ts"],
	},
	{
		file: "src/cli/x.ts",
		allowed: [
			"../client/y.ts",
			"../local/y.ts",
			"../server/y.ts",
			"../protocol/y.ts",
			"../core/terminal-queries.ts",
			"commander",
		],
		refused: ["../core/errors.ts", "../keeper/y.ts"],
	},
	{
		file: "src/cli/commands/x.ts",
		allowed: ["../y.ts", "../../client/y.ts", "../../local/y.ts", "../../server/y.ts", "../../protocol/y.ts"],
		refused: ["../../core/errors.ts", "../../backends/y.ts"],
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
	{
		file: "src/server/x.ts",
		allowed: ["../keepers/y.ts", "../fronts/front.ts", "../fronts/prepare.ts", "fastify"],
		refused: ["../cli/y.ts", "../fronts/native/y.ts", "../fronts/native/access/y.ts"],
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
	for (const { file, allowed, refused } of layers) {
		const name = (index: number, kind: string) => file.replace("x.ts", `${kind}-${index}.ts`);
		for (const [index, module] of allowed.entries()) write(name(index, "allowed"), `export * from "${module}";\n`);
		for (const [index, module] of refused.entries()) write(name(index, "refused"), `export * from "${module}";\n`);
	}
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

describe.each(layers)("$file", ({ file, allowed, refused }) => {
	it.each(allowed.map((module, index) => [module, index] as const))("may import %s", (_, index) => {
		expect(reported(file.replace("x.ts", `allowed-${index}.ts`))).toEqual([]);
	});
	it.each(refused.map((module, index) => [module, index] as const))("may not import %s", (_, index) => {
		expect(reported(file.replace("x.ts", `refused-${index}.ts`))).toContain("noRestrictedImports");
	});
});

it.each(offences)("%s is an error", (rule) => {
	expect(reported(`src/server/${rule}/bad.ts`)).toContain(rule);
});

it.each(["document", "fetch"])("the state of the web UI may not use %s", (name) => {
	expect(reported(`web/state/${name}.ts`)).toContain("noRestrictedGlobals");
});
