/** Keeps lines short: whoever may choose what stands in one could push what others did out of the record with it. */

/** Of one field, in UTF-16 units: more than any id has, and most paths. What is cut says how long it was. */
const MAX_TEXT = 300;
/** Of one list: as many as a token may have scopes. */
const MAX_ITEMS = 32;

/** The same with every text in it cut. */
export function cut<Value>(value: Value): Value {
	return cutAny(value) as Value;
}

function cutAny(value: unknown): unknown {
	if (typeof value === "string") return cutText(value);
	if (Array.isArray(value)) return value.slice(0, MAX_ITEMS).map(cutAny);
	if (typeof value !== "object" || value === null) return value;
	return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, cutAny(member)]));
}

function cutText(text: string): string {
	return text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT)}… (${text.length} characters)` : text;
}
