/** TypeScript: the types of messages and operations, and the method and path of each operation. */

import { additionalOf, isRequired } from "./named-types.js";

const primitives = { string: "string", integer: "number", number: "number", boolean: "boolean", null: "null" };

export function typescriptTypes(head, types, operations) {
	const declarations = [...types].map(
		([name, schema]) => `${comment(schema.description)}export type ${name} = ${unnamed(schema)};\n`,
	);
	const members = Object.entries(operations).map(
		([name, operation]) => `${comment(operation.summary)}readonly ${name}: ${operationType(operation)};`,
	);
	return [
		`/** ${head} */\n`,
		...declarations,
		"type None = Record<never, never>;",
		"type Operation<Params, Query, Body, Answer> = {\nreadonly params: Params;\nreadonly query: Query;\nreadonly body: Body;\nreadonly answer: Answer;\n};\n",
		`/** The HTTP operations. */\nexport type Operations = {\n${members.join("\n")}\n};\n`,
	].join("\n");
}

export function typescriptOperations(head, operations) {
	const rows = Object.entries(operations).map(([name, { route }]) => `${name}: ${JSON.stringify(route)},`);
	return `/** ${head} */\n\nexport const operations = {\n${rows.join("\n")}\n} as const;\n`;
}

function operationType({ route, params = {}, query, body, takes, answer, content }) {
	const inPath = [...route.matchAll(/:(\w+)/g)].map(
		([, name]) => `readonly ${name}: ${type(params[name] ?? { type: "string" })}`,
	);
	const parts = [
		inPath.length > 0 ? `{ ${inPath.join("; ")} }` : "None",
		query ? queryType(query) : "None",
		takes ? "Uint8Array" : body ? `${type(body)}${body.isOptional ? " | undefined" : ""}` : "undefined",
		answer ? type(answer) : content ? "never" : "undefined",
	];
	return `Operation<${parts.join(", ")}>`;
}

function queryType(fields) {
	const required = Object.keys(fields).filter((name) => !fields[name].isOptional);
	return unnamed({ type: "object", required, properties: fields });
}

function type(schema) {
	return schema.title ?? unnamed(schema);
}

function unnamed(schema) {
	const { const: constant, anyOf, type: kind, items, prefixItems, properties } = schema;
	if (constant !== undefined) return JSON.stringify(constant);
	if (anyOf) return anyOf.map((one) => `\n${comment(one.doc)}| ${type(one)}`).join("");
	if (prefixItems) return `readonly [${prefixItems.map(type).join(", ")}]`;
	if (kind === "array") return `readonly (${type(items)})[]`;
	if (kind !== "object") return primitives[kind] ?? "unknown";
	const additional = additionalOf(schema);
	if (!properties) return `Readonly<Record<string, ${additional ? type(additional) : "unknown"}>>`;
	const members = Object.entries(properties).map(
		([name, field]) => `${comment(field.doc)}readonly ${name}${isRequired(schema, name) ? "" : "?"}: ${type(field)};`,
	);
	if (members.length === 0 && !additional) return "None";
	if (additional) members.push(`readonly [member: string]: ${type(additional)};`);
	return `{\n${members.join("\n")}\n}`;
}

function comment(text) {
	return text ? `/** ${text} */\n` : "";
}
