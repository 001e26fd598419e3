/** The named types of the API, in an order in which each comes after those that it uses. */

/** The name of a type, its schema without what documents the fields that have it, by name. */
export function namedTypes(operations, messages) {
	const types = new Map();
	const add = (schema) => {
		if (Array.isArray(schema)) for (const one of schema) add(one);
		if (typeof schema !== "object" || schema === null) return;
		for (const [keyword, value] of Object.entries(schema)) if (keyword !== "examples") add(value);
		if (typeof schema.title !== "string") return;
		const { doc: _, isOptional: __, ...own } = schema;
		const known = types.get(schema.title);
		if (known && JSON.stringify(known) !== JSON.stringify(own)) {
			throw new Error(`two different schemas are called ${schema.title}`);
		}
		types.set(schema.title, own);
	};
	for (const { query, body, answer, otherAnswers, events } of Object.values(operations)) {
		add([query ?? {}, body, answer, otherAnswers ?? {}, events ?? {}]);
	}
	add(messages);
	return types;
}

/** The values of a union of constants; undefined for other schemas. */
export function constantsOf({ anyOf, const: constant }) {
	if (constant !== undefined) return [constant];
	return anyOf?.every((one) => one.const !== undefined) ? anyOf.map((one) => one.const) : undefined;
}

export function isRequired(schema, field) {
	return schema.required?.includes(field) ?? false;
}

/** The value of the members that an object may have besides the named ones. */
export function additionalOf({ patternProperties, additionalProperties }) {
	if (patternProperties) return Object.values(patternProperties)[0];
	return typeof additionalProperties === "object" ? additionalProperties : undefined;
}
