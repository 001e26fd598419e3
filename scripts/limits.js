#!/usr/bin/env node
/**
 * Writes the tables of limits in the documents from the constants that set the limits. The doc comment of such a constant has a tag:
 *
 *     @limit <what is limited> | <what happens at the limit>
 *     @limit <what is limited> | <the value, with % for that of the constant> | <what happens at the limit>
 *
 * The value comes from the syntax tree: a number, an expression of numbers and other constants, an object of numbers,
 * or the default of a setting. Its unit comes from the constant's name. `--check` writes nothing, and fails if a page
 * is out of date.
 */

import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript-5.6";

const root = fileURLToPath(new URL("..", import.meta.url));
const TABLES = /<!-- limits: (.*) -->[\s\S]*?<!-- end -->/;
/** Each page lists its tables; several have headings, one has none. */
const PAGES = [
	"docs/limits.md",
	"docs/limits-of-parts.md",
	"docs/compat/opensandbox.md",
	"docs/compat/codex-exec-server.md",
	"docs/compat/codex-app-server.md",
	"docs/compat/multica.md",
];

/** The headings, and the files whose limits are below each. The first match counts. */
const SECTIONS = [
	["OpenSandbox execd", /^src\/(fronts|server)\/dropins\/opensandbox/],
	["Codex exec-server", /^src\/fronts\/dropins\/codex-exec/],
	["Codex app-server", /^src\/fronts\/dropins\/codex-app/],
	["Multica", /^src\/fronts\/dropins\/multica/],
	["Settings", /^src\/server\/config/],
	["Secrets and approvals", /^src\/(core\/(secrets|policy)|services\/(secrets|gates)|words\/gate-limits)/],
	["Shells", /^src\/(core\/shell|services\/feed\/shell-commands)/],
	[
		"Terminals and screens",
		/^(native\/pump|src\/(core\/terminal|services\/(screens|waits)|emulator|fronts\/native\/screen))/,
	],
	["Input", /^src\/core\/input/],
	[
		"Output, search and recordings",
		/^src\/(core\/log|disk|journal|services\/(search|recording)|fronts\/native\/(search|recordings))/,
	],
	["Keepers", /^src\/(keeper|fronts\/native\/sessions)/],
	["Agents", /^src\/(fronts\/mcp|services\/reading|cli\/agents)/],
	["Connections, requests and answers", /^src\/(http|core\/json-scan|api|fronts\/(native|json-rpc))/],
	["Credentials", /^src\/access/],
	["Audit", /^src\/audit/],
	["Workspaces, webhooks and events", /^src\/(workspaces|services\/(webhooks|feed)|server\/server)/],
	["Commands and the web UI", /^(web|src\/cli)\//],
	["Sessions and programs", /^(src|native)\//],
];

/** The expected content of the pages, by path. */
export function limitsPages() {
	const limits = ["native", "src", "web"].flatMap(sourceFiles).flatMap(limitsOf);
	const shown = [];
	const table = (heading) => {
		const rows = limits.filter((limit) => limit.heading === heading).map(({ row }) => row);
		if (rows.length === 0) throw new Error(`no limit is under the heading ${heading}`);
		shown.push(heading);
		return `| limit | value | at the limit |\n|---|---|---|\n${rows.join("\n")}\n`;
	};
	const tables = (headings) => {
		if (headings.length === 1) return table(headings[0]);
		return headings.map((heading) => `## ${heading}\n\n${table(heading)}`).join("\n");
	};
	const pages = PAGES.map((path) => {
		const page = readFileSync(join(root, path), "utf8");
		const content = page.replace(TABLES, (_all, headings) => {
			return `<!-- limits: ${headings} -->\n${tables(headings.split("; "))}<!-- end -->`;
		});
		return [path, content];
	});
	const [missing] = limits.filter(({ heading }) => !shown.includes(heading));
	if (missing) throw new Error(`no page shows the limits under ${missing.heading}`);
	return new Map(pages);
}

function sourceFiles(folder) {
	const names = readdirSync(join(root, folder), { recursive: true, encoding: "utf8" }).sort();
	return names.map((name) => join(folder, name)).filter((path) => /\.(ts|c)$/.test(path));
}

function limitsOf(path) {
	const text = readFileSync(join(root, path), "utf8");
	if (!text.includes("@limit ")) return [];
	const [heading] = SECTIONS.find(([, files]) => files.test(path)) ?? [];
	const found = path.endsWith(".c") ? tagsOfC(text) : tagsOfTypeScript(path);
	const tags = text.split("@limit ").length - 1;
	if (found.length !== tags) throw new Error(`${path}: ${tags} @limit tags, but only ${found.length} are at constants`);
	return found.map(({ name, value, tag }) => ({ heading, row: rowOf(`${path}: ${name}`, name, value, tag) }));
}

function rowOf(where, name, value, tag) {
	const parts = tag
		.replace(/\s+/g, " ")
		.split(" | ")
		.map((part) => part.trim());
	const [what, template, at] = parts.length === 2 ? [parts[0], "%", parts[1]] : parts;
	if (!at || parts.length > 3) throw new Error(`${where}: "@limit ${tag}" is not: what | at the limit`);
	return `| ${what} | ${template.replace("%", describe(name, value))} | ${at} |`;
}

/** A value in words, with the unit from the end of the constant's name. */
export function describe(name, value) {
	if (typeof value === "number") return describeNumber(name, value);
	if ("accounts" in value) return describeBudget(name, value);
	const parts = Object.entries(value).filter(([, part]) => typeof part === "number");
	return parts.map(([key, part]) => `${words(key)} ${describeNumber(unitOf(key) ? key : name, part)}`).join(", ");
}

/** The parts of a `Budget`. */
function describeBudget(name, { operator, others, each, fair, accounts, what }) {
	const number = (value) => describeNumber(/^bytes\b/.test(what) ? "BYTES" : name, value);
	const own = `${number(operator)} for the operator`;
	return `${own}, ${number(others)} for others: ${number(each)} each, ${number(fair)} reserved for each of ${accounts}`;
}

function describeNumber(name, value) {
	switch (unitOf(name)) {
		case "BYTES":
			return scaled(value, 1024, ["bytes", "KiB", "MiB", "GiB"]);
		case "MIB":
			return `${value} MiB`;
		case "MS":
			return duration(value);
		case "S":
			return duration(value * 1000);
		case "SHARE":
			return `${value * 100} %`;
		case "LENGTH":
			return `${grouped(value)} characters`;
		default:
			return grouped(value);
	}
}

function unitOf(name) {
	return /(?:^|[_a-z])(BYTES|MIB|MS|S|SHARE|LENGTH)$/.exec(
		name.replace(/(?<=[a-z])(Bytes|Ms|Length)$/, (unit) => `_${unit.toUpperCase()}`),
	)?.[1];
}

function words(key) {
	return key
		.replace(/(Bytes|Ms)$/, "")
		.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)
		.trim();
}

function duration(ms) {
	const units = { days: 86_400_000, h: 3_600_000, min: 60_000, s: 1000, ms: 1 };
	// One day is 24 h.
	const [unit, size] = Object.entries(units).find(
		([unit, size]) => ms % size === 0 && ms >= (unit === "days" ? 2 : 1) * size,
	);
	return `${grouped(ms / size)} ${unit}`;
}

function scaled(value, base, units) {
	let [size, unit] = [value, 0];
	for (; size >= base && size % (base / 4) === 0 && unit < units.length - 1; unit++) size /= base;
	return `${grouped(size)} ${units[unit]}`;
}

function grouped(value) {
	return value.toLocaleString("en-US", { maximumFractionDigits: 3 });
}

function tagsOfC(text) {
	const tags = text.matchAll(/\/\*(?:(?!\*\/)[\s\S])*?@limit ([\s\S]*?)\*\/\n#define (\w+) (.*)/g);
	return [...tags].map(([, tag, name, expression]) => {
		if (!/^[\d\s()*+-]+$/.test(expression)) throw new Error(`${name} is no number: ${expression}`);
		const source = parse(`${name}.ts`, `const ${name} = ${expression};`);
		return { name, value: constantsOf(source)(name), tag: tag.replace(/\n\s*\*/g, " ") };
	});
}

function tagsOfTypeScript(path) {
	const source = sourceOf(path);
	const constant = constantsOf(source);
	const found = [];
	const visit = (node) => {
		const isConstant = ts.isVariableDeclaration(node) || ts.isPropertyAssignment(node);
		for (const tag of isConstant ? ts.getJSDocTags(node) : []) {
			if (tag.tagName.text !== "limit") continue;
			const text = ts.getTextOfJSDocComment(tag.comment) ?? "";
			found.push({ name: node.name.getText(), value: constant(node.initializer), tag: text });
		}
		ts.forEachChild(node, visit);
	};
	visit(source);
	return found;
}

const parsed = new Map();

function sourceOf(path) {
	if (!parsed.has(path)) parsed.set(path, parse(path, readFileSync(join(root, path), "utf8")));
	return parsed.get(path);
}

function parse(path, text) {
	return ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true);
}

/** Evaluates expressions and names of a file. */
function constantsOf(source) {
	const evaluate = (node) => {
		if (typeof node === "string") return named(node);
		if (ts.isNumericLiteral(node)) return Number(node.text);
		if (ts.isParenthesizedExpression(node) || ts.isAsExpression(node) || ts.isSatisfiesExpression(node))
			return evaluate(node.expression);
		if (ts.isIdentifier(node)) return named(node.text);
		if (ts.isPropertyAccessExpression(node)) return evaluate(node.expression)[node.name.text];
		if (ts.isBinaryExpression(node))
			return OPERATIONS[node.operatorToken.getText()](evaluate(node.left), evaluate(node.right));
		// A setting: its name and its default.
		if (ts.isCallExpression(node)) return evaluate(node.arguments[1]);
		if (ts.isObjectLiteralExpression(node)) return Object.fromEntries(node.properties.flatMap(propertyOf));
		if (ts.isStringLiteralLike(node) || ts.isTemplateExpression(node)) return node.getText().slice(1, -1);
		throw new Error(`${source.fileName}: ${node.getText()} is no number that can be read here`);
	};
	const propertyOf = (property) =>
		ts.isPropertyAssignment(property) ? [[property.name.getText(), evaluate(property.initializer)]] : [];
	const named = (name) => {
		for (const statement of source.statements) {
			const [from, original] = importOf(statement, name) ?? [];
			if (from) return constantsOf(sourceOf(join(dirname(source.fileName), from)))(original);
			const declared = ts.isVariableStatement(statement) ? statement.declarationList.declarations : [];
			const declaration = declared.find((one) => one.name.getText() === name);
			if (declaration) return evaluate(declaration.initializer);
		}
		throw new Error(`${source.fileName}: there is no constant ${name}`);
	};
	return evaluate;
}

const OPERATIONS = {
	"+": (a, b) => a + b,
	"-": (a, b) => a - b,
	"*": (a, b) => a * b,
	"/": (a, b) => a / b,
	"**": (a, b) => a ** b,
};

function importOf(statement, name) {
	if (!ts.isImportDeclaration(statement)) return undefined;
	const elements = statement.importClause?.namedBindings?.elements ?? [];
	const element = elements.find((one) => one.name.text === name);
	return element && [statement.moduleSpecifier.text, (element.propertyName ?? element.name).text];
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
	for (const [path, content] of limitsPages()) {
		if (readFileSync(join(root, path), "utf8") === content) continue;
		if (process.argv.includes("--check")) {
			console.error(`${path} is out of date: run node scripts/limits.js`);
			process.exitCode = 1;
		} else writeFileSync(join(root, path), content);
	}
}
