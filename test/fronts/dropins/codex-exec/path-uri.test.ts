/** Paths as `file:` URIs in both directions (contract §10.1). */

import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
	nativePath,
	pathUri,
	toPathUri,
	workingDirectory,
} from "../../../../src/fronts/dropins/codex-exec/path-uri.ts";
import { refusalOf } from "./support/calls.ts";

const read: [string, string][] = [
	["file:///w/a.txt", "/w/a.txt"],
	["file:///", "/"],
	["file:///w/", "/w"],
	["file:/w", "/w"],
	["file://localhost/w", "/w"],
	["FILE:///w", "/w"],
	["file:///sp%20ace%23%C3%A9.txt", "/sp ace#é.txt"],
	["file:///sp ace-é.txt", "/sp ace-é.txt"],
	["file:///a/../b/./c", "/b/c"],
	["file:///a/%2e%2e/b", "/b"],
	["file:///100%", "/100%"],
	["file:///%2500", "/%00"],
	["file:///%00/bad/path/L3RtcC9h", "/tmp/a"],
	["file:///%00/bad/path/L0M6L3g", "/C:/x"],
	["file:///c/C:/x", "/c/C:/x"],
];

test.each(read)("%s is read as %s", (uri, path) => {
	expect(nativePath(pathUri(uri)).toString()).toBe(path);
});

const refused: [string, unknown][] = [
	["-32602: invalid URI: relative URL without a base", "/native/path"],
	["-32602: invalid URI: relative URL without a base", ""],
	["-32602: invalid URI: malformed", "file://host:80/x"],
	["-32602: invalid URI: malformed", "file://user@host/x"],
	["-32602: unsupported path URI scheme `https`", "https://example.com/a"],
	["-32602: query parameters are not allowed in path URIs", "file:///a?"],
	["-32602: query parameters are not allowed in path URIs", "file:///a?b=c"],
	["-32602: fragments are not allowed in path URIs", "file:///a#"],
	["-32602: 'file:///a%00b' is invalid on 'linux'", "file:///a%00b"],
	["-32602: 'file:///%00/bad/path/L3RtcC9h/x' is invalid on 'linux'", "file:///%00/bad/path/L3RtcC9h/x"],
	["-32602: 'file:///%00/bad/path/' is invalid on 'linux'", "file:///%00/bad/path/"],
	["-32602: 'file:///%00/bad/path/YQ==' is invalid on 'linux'", "file:///%00/bad/path/YQ=="],
	["-32602: invalid type: integer `5`, expected a string", 5],
];

test.each(refused)("%s", (text, uri) => {
	expect(refusalOf(() => pathUri(uri))).toBe(text);
});

describe("a path of another operating system is well formed, and refused by the method", () => {
	const foreign = [
		"file:///C:/x",
		"file:///C|/x",
		"file://server/share/x",
		"file:///%00/bad/path/YQ",
		"file:///%00/bad/path/L2EAYg",
	];
	test.each(foreign)("%s is well formed", (text) => {
		const uri = pathUri(text);
		const why = `'${uri.uri}' is invalid on 'linux'`;
		expect(refusalOf(() => nativePath(uri))).toBe(`-32600: ${why}`);
		expect(refusalOf(() => workingDirectory(uri))).toBe(
			`-32602: cwd URI \`${uri.uri}\` is not valid on this exec-server host: ${why}`,
		);
	});

	test("the refusal of process/start has the exact text of the contract", () => {
		expect(refusalOf(() => workingDirectory(pathUri("file:///C:/work")))).toBe(
			"-32602: cwd URI `file:///C:/work` is not valid on this exec-server host: 'file:///C:/work' is invalid on 'linux'",
		);
	});
});

test("a working directory is text, and one that is not UTF-8 is refused", () => {
	expect(workingDirectory(pathUri("file:///w/%C3%A9"))).toBe("/w/é");
	expect(refusalOf(() => workingDirectory(pathUri("file:///w/%FF")))).toContain("-32602: cwd URI `file:///w/%FF`");
});

const written: [string, string][] = [
	["/w/sp ace#é.txt", "file:///w/sp%20ace%23%C3%A9.txt"],
	["/", "file:///"],
	["/a?b%20\\c", "file:///a%3Fb%2520%5Cc"],
	['/"<>`{}', "file:///%22%3C%3E%60%7B%7D"],
	["/a+b&c=d;e~[]|^@:!$'()*,", "file:///a+b&c=d;e~[]|^@:!$'()*,"],
	["/a\n\x7f", "file:///a%0A%7F"],
	["/C:/x", "file:///%00/bad/path/L0M6L3g"],
	["/c|/x", "file:///%00/bad/path/L2N8L3g"],
	["/a/../b", "file:///%00/bad/path/L2EvLi4vYg"],
];

test.each(written)("%j is written as %s", (path, uri) => {
	expect(toPathUri(path)).toBe(uri);
});

test("a name that is not UTF-8 keeps its bytes", () => {
	expect(toPathUri(Buffer.from("/w/\xff", "latin1"))).toBe("file:///w/%FF");
	expect(nativePath(pathUri("file:///w/%ff"))).toEqual(Buffer.from("/w/\xff", "latin1"));
});

test("every path's URI leads back to the path", () => {
	const component = fc
		.uint8Array({ minLength: 1, maxLength: 8 })
		.map((bytes) => Buffer.from(bytes.map((byte) => (byte === 0 || byte === 0x2f ? 0x2e : byte))));
	const paths = fc
		.array(component, { maxLength: 5 })
		.map((names) => (names.length > 0 ? names.flatMap((name) => [0x2f, ...name]) : [0x2f]))
		.map((bytes) => Buffer.from(bytes));
	fc.assert(fc.property(paths, (path) => nativePath(pathUri(toPathUri(path))).equals(path)));
});
