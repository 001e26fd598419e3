/** The field tables of the documentation, each between `<!-- fields: NAME -->` and `<!-- end -->`. */

import { additionalOf, constantsOf, isRequired } from "./named-types.js";

const TABLE = /<!-- (fields|query): (\w+) -->\n[\s\S]*?<!-- end -->/g;

export function fieldTables(page, types, operations) {
	return page.replace(TABLE, (_all, kind, name) => {
		const fields = kind === "query" ? queryOf(operations, name) : fieldsOf(types, name);
		const rows = fields.map(([field, schema, isAlwaysThere]) => {
			const meaning = schema.doc ?? schema.description ?? "";
			return row(`\`${field}${isAlwaysThere ? "" : "?"}\``, typeText(schema, kind === "query"), meaning);
		});
		const head = kind === "query" ? "query" : "field";
		return `<!-- ${kind}: ${name} -->\n| ${head} | type | meaning |\n|---|---|---|\n${rows.join("\n")}\n<!-- end -->`;
	});
}

function fieldsOf(types, name) {
	const schema = types.get(name);
	if (!schema?.properties) {
		throw new Error(`the documentation shows the fields of ${name}, which is no object of the API`);
	}
	return Object.entries(schema.properties).map(([field, one]) => [field, one, isRequired(schema, field)]);
}

function queryOf(operations, name) {
	const { query } = operations[name] ?? {};
	if (!query) throw new Error(`the documentation shows the query of ${name}, which is no operation with a query`);
	return Object.entries(query).map(([field, one]) => [field, one, !one.isOptional]);
}

function row(...cells) {
	return `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;
}

function typeText(schema, isQuery = false) {
	const constants = constantsOf(schema);
	if (constants) return constants.map((one) => `\`${one}\``).join(", ");
	const { title, type, items, anyOf, expected } = schema;
	if (anyOf && !title) return anyOf.map((one) => typeText(one)).join(" or ");
	if (title) return title;
	if (type === "array") return isQuery ? `${typeText(items)}; repeatable` : `list of ${typeText(items)}`;
	if (type === "integer") return `integer${rangeText(schema.minimum, schema.maximum)}`;
	if (type === "string") return `${expected ?? "string"}${rangeText(schema.minLength, schema.maxLength)}`;
	const additional = additionalOf(schema);
	return additional ? `map of ${typeText(additional)}` : (type ?? "any");
}

function rangeText(minimum = 0, maximum = Number.MAX_SAFE_INTEGER) {
	const isBounded = maximum < Number.MAX_SAFE_INTEGER;
	if (minimum > 0 && isBounded) return ` (${minimum} to ${maximum})`;
	if (isBounded) return ` (at most ${maximum})`;
	return minimum > 0 ? ` (at least ${minimum})` : "";
}
