import fc from "fast-check";
import { expect, test } from "vitest";
import { entriesIn, withEntries, withoutEntries } from "../../../src/cli/agent-hooks/hook-entries.ts";
import { dataOf, parseJsonText } from "../../../src/cli/agent-hooks/json-text.ts";

const own = (event: string) => ({
	hooks: [{ type: "command", command: `[ -x "$HAWSER_HOOK" ] && "$HAWSER_HOOK" ${event} || :`, timeout: 5 }],
});
const entries = { Stop: [own("Stop")], PermissionRequest: [own("PermissionRequest")] };
/** Not those in strings. */
const COMMENTS = /\/\/ [\w ]+$|\/\*.*?\*\//gm;
const data = (text: string) => dataOf(parseJsonText(text));

/** Settings as people have them. */
const SAMPLES: Readonly<Record<string, string>> = {
	"an empty object": "{}",
	"an empty file": "",
	"a compact object": '{"model":"opus"}',
	"two spaces": '{\n  "model": "opus",\n  "permissions": {\n    "allow": ["Bash(ls:*)"]\n  }\n}\n',
	"tabs, without a newline at the end": '{\n\t"model": "opus"\n}',
	"Windows line ends": '{\r\n  "model": "opus",\r\n  "env": {}\r\n}\r\n',
	"a byte order mark": '\ufeff{\n  "model": "opus"\n}\n',
	"comments and trailing commas":
		'// mine\n{\n  /* which */ "model": "opus", // the best\n  "hooks": {\n    // none yet\n  }, // later\n  "list": [1, 2, /* 3 */],\n  // the end\n}\n// after\n',
	"hooks of the user for the same event":
		'{\n  "hooks": {\n    "Stop": [\n      { "matcher": "", "hooks": [{ "type": "command", "command": "say done" }] } // loud\n    ],\n    "PreToolUse": []\n  }\n}\n',
	"hooks in one line": '{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"say done"}]}]},"z":1}',
	"an empty list for an event": '{ "hooks": { "Stop": [ ] } }',
	"names that need escapes": '{ "a\\"b": "\\u00e9 // no comment", "hooks": {} }',
};

test.each(Object.entries(SAMPLES))("entries are added to %s without a change to the rest", (_, text) => {
	const added = withEntries(text, entries);
	expect(entriesIn(added)).toEqual(entries);
	const before = (text.trim() === "" ? {} : data(text)) as { hooks?: Record<string, unknown[]> };
	const hooks = {
		...before.hooks,
		Stop: [...(before.hooks?.Stop ?? []), own("Stop")],
		PermissionRequest: [own("PermissionRequest")],
	};
	expect(data(added)).toEqual({ ...before, hooks });
	for (const comment of text.match(COMMENTS) ?? []) expect(added).toContain(comment);
	expect(added.includes("\r\n")).toBe(text.includes("\r\n"));
	if (text.includes("\r\n")) expect(added.replaceAll("\r\n", "")).not.toContain("\n");
});

test.each(Object.entries(SAMPLES))("entries are taken away again from %s", (_, text) => {
	const removed = withoutEntries(withEntries(text, entries), text);
	expect(data(removed)).toEqual(text.trim() === "" ? {} : data(text));
	for (const comment of text.match(COMMENTS) ?? []) expect(removed).toContain(comment);
});

test("what the user has added since stays, also within our groups", () => {
	const changed = withEntries('{\n  "model": "opus"\n}\n', entries)
		.replace('"timeout": 5', '"timeout": 7')
		.replace('"model": "opus"', '"model": "sonnet", // cheaper\n  "effort": "low"')
		.replace('"hooks": [\n', '"hooks": [\n          { "type": "command", "command": "mine" },\n');
	const removed = withoutEntries(changed, '{"model": "opus"}');
	expect(data(removed)).toEqual({
		model: "sonnet",
		effort: "low",
		hooks: { Stop: [{ hooks: [{ type: "command", command: "mine" }] }] },
	});
	expect(removed).toContain("// cheaper");
});

test.each([
	["not JSON", '{ "a": }', /line 1 is not valid JSON/],
	["cut off", '{\n "hooks": {\n', /line 3 is not valid JSON/],
	["an array", "[]", /not a JSON object/],
	["hooks that are a list", '{"hooks":[]}', /hooks are not a JSON object/],
	["an event that is an object", '{"hooks":{"Stop":{}}}', /hooks\.Stop is not a JSON array/],
	["text after the object", "{} {}", /line 1 is not valid JSON/],
	["too deep", "[".repeat(1_000), /line 1 is not valid JSON/],
])("settings that are %s are refused", (_, text, message) => {
	expect(() => withEntries(text, entries)).toThrow(message);
});

test("any settings keep their data when entries come and go", () => {
	const settings = fc.record({
		before: fc.jsonValue({ maxDepth: 3 }),
		hooks: fc.dictionary(
			fc.constantFrom("Stop", "PermissionRequest", "Other"),
			fc.array(fc.record({ hooks: fc.array(fc.record({ command: fc.string() })) }), { maxLength: 3 }),
		),
		after: fc.string(),
	});
	const indents = fc.constantFrom(undefined, 1, 2, "\t");
	fc.assert(
		fc.property(settings, indents, (value, indent) => {
			const text = JSON.stringify(value, null, indent);
			const added = withEntries(text, entries);
			expect(data(added)).toEqual(JSON.parse(added));
			expect(data(withoutEntries(added, text))).toEqual(JSON.parse(text));
		}),
		{ numRuns: 300 },
	);
});
