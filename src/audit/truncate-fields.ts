/** Truncates long fields. A caller that controls a field could otherwise push the entries of others out of the record. */

/**
 * Length of a text, in UTF-16 units: longer than ids and most paths. A truncated text contains its original length.
 * @limit a text in an entry | % characters | it is cut, with its length
 */
const MAX_TEXT = 300;
/**
 * Items of a list: as many as a token may have scopes.
 * @limit items of a list in an entry | it is cut, with its length
 */
const MAX_ITEMS = 32;

/** A copy with all texts and lists truncated. */
export function truncateFields<Value>(value: Value): Value {
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
