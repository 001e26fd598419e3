/**
 * Our entries in an agent's settings, which have the form `{ "hooks": { "EVENT": [{ "hooks": [{ "command" … }] }] } }`. An
 * entry is ours if its command runs the program that a session names in its environment.
 */

import { addMember, removeMember } from "./json-edit.ts";
import { dataOf, type JsonArray, type JsonItem, type JsonNode, memberOf, parseJsonText } from "./json-text.ts";

/** Groups of hooks by event. */
export type HookEntries = Readonly<Record<string, readonly unknown[]>>;

const OWN_COMMAND = "$HAWSER_HOOK";

/** Our entries in a text, by event. */
export function entriesIn(text: string): HookEntries {
	const hooks = memberOf(rootOf(text), "hooks")?.value;
	if (hooks?.kind !== "object") return {};
	const events = hooks.members.map(({ name, value }) => [name, ownGroups(value).map((group) => dataOf(group.value))]);
	return Object.fromEntries(events.filter(([, groups]) => (groups?.length ?? 0) > 0));
}

/** The text with our entries after those that are there. */
export function withEntries(text: string, entries: HookEntries): string {
	let result = text.trim() === "" ? `{}\n` : text;
	for (const [event, groups] of Object.entries(entries)) {
		for (const group of groups) result = withGroup(result, event, group);
	}
	return result;
}

/** The text without our entries. `before`, a text without them, says which empty objects and arrays stay. */
export function withoutEntries(text: string, before: string): string {
	let result = text;
	for (const event of Object.keys(entriesIn(text))) {
		for (let next = withoutHook(result, event); next !== undefined; next = withoutHook(result, event)) result = next;
		if (!eventIn(before, event)) result = withoutEmpty(result, event);
	}
	return memberOf(rootOf(before), "hooks") ? result : withoutEmpty(result);
}

function withGroup(text: string, event: string, group: unknown): string {
	const root = rootOf(text);
	if (root.kind !== "object") throw new SyntaxError("it is not a JSON object");
	const hooks = memberOf(root, "hooks")?.value;
	if (!hooks) return addMember(text, root, { [event]: [group] }, "hooks");
	if (hooks.kind !== "object") throw new SyntaxError("its hooks are not a JSON object");
	const groups = memberOf(hooks, event)?.value;
	if (!groups) return addMember(text, hooks, [group], event);
	if (groups.kind !== "array") throw new SyntaxError(`its hooks.${event} is not a JSON array`);
	return addMember(text, groups, group);
}

/** Removes one hook, with its group if that is empty then; undefined if there is none. */
function withoutHook(text: string, event: string): string | undefined {
	const groups = eventIn(text, event)?.value;
	const [group] = groups ? ownGroups(groups) : [];
	if (groups?.kind !== "array" || !group) return undefined;
	const hooks = hooksOf(group.value);
	const [own] = hooks?.members.filter(isOwn) ?? [];
	if (!hooks || !own) return undefined;
	return hooks.members.length > 1 ? removeMember(text, hooks, own) : removeMember(text, groups, group);
}

/** Removes the groups of an event, or all hooks, if they are empty. */
function withoutEmpty(text: string, event?: string): string {
	const root = rootOf(text);
	const hooks = memberOf(root, "hooks");
	const parent = event === undefined ? root : hooks?.value;
	const member = event === undefined ? hooks : eventIn(text, event);
	if (parent?.kind !== "object" || !member || member.value.kind === "scalar") return text;
	return member.value.members.length === 0 ? removeMember(text, parent, member) : text;
}

function eventIn(text: string, event: string) {
	const hooks = memberOf(rootOf(text), "hooks")?.value;
	return hooks && memberOf(hooks, event);
}

function ownGroups(groups: JsonNode): JsonItem[] {
	if (groups.kind !== "array") return [];
	return groups.members.filter(({ value }) => hooksOf(value)?.members.some(isOwn));
}

function hooksOf(group: JsonNode): JsonArray | undefined {
	const hooks = memberOf(group, "hooks")?.value;
	return hooks?.kind === "array" ? hooks : undefined;
}

function isOwn({ value }: JsonItem): boolean {
	const command = memberOf(value, "command")?.value;
	return command?.kind === "scalar" && typeof command.value === "string" && command.value.includes(OWN_COMMAND);
}

function rootOf(text: string): JsonNode {
	return parseJsonText(text.trim() === "" ? "{}" : text);
}
