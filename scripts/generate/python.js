/** Python: the types of messages, and the method and path of each operation. */

import { additionalOf, constantsOf, isRequired } from "./named-types.js";

const primitives = { string: "str", integer: "int", number: "float", boolean: "bool", null: "None" };
const WIDTH = 120;
const keywords = new Set(
	"and as assert async await break class continue def del elif else except finally for from global if import in is lambda nonlocal not or pass raise return try while with yield".split(
		" ",
	),
);

export function pythonTypes(head, types) {
	const declarations = [];
	const declare = (name, schema) => {
		if (isObject(schema)) declarations.push(typedDict(name, schema, (field, inner) => nested(name, field, inner)));
		else {
			const { title: _, ...own } = schema;
			declarations.push(`${comments(schema.description, "")}${alias(name, typeOf(own, name))}\n`);
		}
	};
	// An object within another one is called after both.
	const nested = (parent, field, schema) => {
		const name = `${parent}${field.charAt(0).toUpperCase()}${field.slice(1)}`;
		declare(name, schema);
		return name;
	};
	const typeOf = (schema, name) =>
		pythonType(schema, () => {
			throw new Error(`${name}: an object in a union needs a title`);
		});
	for (const [name, schema] of types) declare(name, schema);
	return `"""${head}"""\n\nfrom __future__ import annotations\n\nfrom typing import Any, Literal, NotRequired, TypedDict\n\n${declarations.join("\n\n")}`;
}

export function pythonOperations(head, operations) {
	const rows = Object.entries(operations).map(([name, { route }]) => {
		const [method, path] = route.split(" ");
		return `    "${name}": ("${method}", "${path.replaceAll(/:(\w+)/g, "{$1}")}"),`;
	});
	const names = Object.keys(operations).map((name) => `    "${name}",`);
	return [
		`"""${head}"""\n`,
		"from __future__ import annotations\n",
		"from typing import Literal\n",
		`OperationName = Literal[\n${names.join("\n")}\n]\n`,
		"#: The method and path of each operation.",
		`OPERATIONS: dict[OperationName, tuple[str, str]] = {\n${rows.join("\n")}\n}\n`,
	].join("\n");
}

function alias(name, type) {
	const line = `${name} = ${type}`;
	if (line.length <= WIDTH) return line;
	if (type.startsWith("Literal["))
		return `${name} = Literal[\n    ${type.slice(8, -1).replaceAll(", ", ",\n    ")},\n]`;
	return `${name} = (\n    ${type.replaceAll(" | ", "\n    | ")}\n)`;
}

function isObject({ type, properties }) {
	return type === "object" && properties !== undefined;
}

function typedDict(name, schema, nested) {
	const fields = Object.entries(schema.properties).map(([field, inner]) => {
		const type = pythonType(inner, (object) => nested(field, object));
		return { field, doc: inner.doc, type: isRequired(schema, field) ? type : `NotRequired[${type}]` };
	});
	if (fields.some(({ field }) => keywords.has(field))) {
		const rows = fields.map(({ field, doc, type }) => `${comments(doc, "        ")}        "${field}": ${type},\n`);
		return `${comments(schema.description, "")}${name} = TypedDict(\n    "${name}",\n    {\n${rows.join("")}    },\n)\n`;
	}
	const rows = fields.map(({ field, doc, type }) => `${comments(doc, "    ")}    ${field}: ${type}\n`);
	const description = schema.description ? docstring(schema.description) : "";
	const body =
		description && rows.length > 0 ? `${description}\n${rows.join("")}` : description || rows.join("") || "    pass\n";
	return `class ${name}(TypedDict):\n${body}`;
}

function pythonType(schema, nested) {
	const { title, anyOf, type, items, prefixItems } = schema;
	if (title) return title;
	const constants = constantsOf(schema);
	if (constants) return `Literal[${constants.map(constant).join(", ")}]`;
	if (anyOf) return anyOf.map((one) => pythonType(one, nested)).join(" | ");
	if (prefixItems) return `tuple[${prefixItems.map((one) => pythonType(one, nested)).join(", ")}]`;
	if (type === "array") return `list[${pythonType(items, nested)}]`;
	if (isObject(schema)) return nested(schema);
	if (type !== "object") return primitives[type] ?? "Any";
	const additional = additionalOf(schema);
	return `dict[str, ${additional ? pythonType(additional, nested) : "Any"}]`;
}

function constant(value) {
	return typeof value === "boolean" ? (value ? "True" : "False") : JSON.stringify(value);
}

function docstring(text) {
	const lines = wrap(text, WIDTH - 10);
	return lines.length === 1 ? `    """${text}"""\n` : `    """${lines.join("\n    ")}\n    """\n`;
}

function comments(text, indent) {
	return text
		? wrap(text, WIDTH - indent.length - 3)
				.map((line) => `${indent}#: ${line}\n`)
				.join("")
		: "";
}

function wrap(text, width) {
	const lines = [];
	let line = "";
	for (const word of text.split(" ")) {
		if (line && line.length + word.length >= width) {
			lines.push(line);
			line = "";
		}
		line += `${line ? " " : ""}${word}`;
	}
	return [...lines, line];
}
