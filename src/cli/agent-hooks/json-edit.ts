/** Adds members to objects and arrays of a JSON text, and removes them, without touching the rest of the text. */

import { type JsonArray, type JsonItem, type JsonObject, skipBlanks } from "./json-text.ts";

type Container = JsonObject | JsonArray;

/** Adds a member at the end. `name` is left out in an array. */
export function addMember(text: string, container: Container, value: unknown, name?: string): string {
	const eol = text.includes("\r\n") ? "\r\n" : "\n";
	const unit = unitOf(text);
	const outer = indentAt(text, container.from);
	const inner = outer + unit;
	const json = JSON.stringify(value, null, unit).replaceAll("\n", eol + inner);
	const member = `${eol}${inner}${name === undefined ? "" : `${JSON.stringify(name)}: `}${json}`;
	const last = container.members.at(-1);
	const close = container.to - 1;
	// Comments before the closing bracket stay where they are.
	const end = text.slice(0, close).trimEnd().length;
	const isOnOwnLine = text.slice(end, close).includes("\n");
	const tail = isOnOwnLine ? text.slice(end) : `${eol}${outer}${text.slice(close)}`;
	const needsComma = last !== undefined && !hasComma(text, last);
	const head = needsComma ? `${text.slice(0, last.to)},${text.slice(last.to, end)}` : text.slice(0, end);
	return head + member + tail;
}

/** Removes a member with its comma, and its line if nothing else is there. */
export function removeMember(text: string, container: Container, member: JsonItem): string {
	const index = container.members.indexOf(member as never);
	const before = container.members[index - 1];
	const head = text.slice(0, member.from).trimEnd();
	const comma = skipBlanks(text, member.to);
	// A comment may be between the member and its comma.
	if (text[comma] === ",") return joined(head, text.slice(member.to, comma) + text.slice(comma + 1));
	if (!before) return joined(head, text.slice(member.to));
	const last = skipBlanks(text, before.to);
	return joined(head.slice(0, last) + head.slice(last + 1), text.slice(member.to));
}

/** Nothing may follow a comment in its line. */
function joined(head: string, tail: string): string {
	const isAfterComment = head.slice(head.lastIndexOf("\n") + 1).includes("//");
	return isAfterComment && !/^[ \t]*\r?\n/.test(tail) ? `${head}\n${tail}` : head + tail;
}

function hasComma(text: string, { to }: JsonItem): boolean {
	return text[skipBlanks(text, to)] === ",";
}

/** The indentation of one level: that of the first indented line. */
function unitOf(text: string): string {
	return /^([ \t]+)["[{]/m.exec(text)?.[1] ?? "  ";
}

/** The indentation of the line that has this offset. */
function indentAt(text: string, offset: number): string {
	const line = text.slice(text.lastIndexOf("\n", offset - 1) + 1, offset);
	return /^[ \t]*/.exec(line)?.[0] ?? "";
}
