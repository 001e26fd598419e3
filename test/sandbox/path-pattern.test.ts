// @module-tag apart

/** Path patterns: matches, and the depth of the search. */

import { mkdir, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { expressionOf, matchesOf } from "../../src/sandbox/path-pattern.ts";
import { temporaryDirectory } from "../support/temporary.ts";

describe("path patterns", () => {
	const cases: [string, readonly string[], readonly string[]][] = [
		["/w/**/*.env", ["/w/.env", "/w/a.env", "/w/a/b/c.env"], ["/w/env", "/w/a.envx", "/v/a.env", "/w/a.env/b"]],
		["/w/*.env", ["/w/a.env", "/w/.env"], ["/w/a/b.env"]],
		["/w/**", ["/w/a", "/w/a/b"], ["/w", "/wa"]],
		["/w/**/secrets/**", ["/w/secrets/a", "/w/a/secrets/b/c"], ["/w/secrets", "/w/secretsx/a"]],
		["/w/a**b", ["/w/ab", "/w/axb"], ["/w/a/b"]],
		["/w/?.key", ["/w/a.key"], ["/w/ab.key", "/w//.key"]],
		["/w/[ab].key", ["/w/a.key"], ["/w/c.key"]],
		["/w/[!a-c].key", ["/w/d.key"], ["/w/b.key", "/w//.key"]],
		["/w/[]x].key", ["/w/].key", "/w/x.key"], ["/w/y.key"]],
		["/w/*.{pem,key}", ["/w/a.pem", "/w/a.key"], ["/w/a.pub", "/w/a.{pem,key}"]],
		["/w/{a,b/{c,d}}.x", ["/w/a.x", "/w/b/d.x"], ["/w/c.x"]],
		["/w/\\*.env", ["/w/*.env"], ["/w/a.env"]],
		["/w/a+(b)|c$", ["/w/a+(b)|c$"], ["/w/aab"]],
		["/w/[", ["/w/["], ["/w/a"]],
		["/w/{a", ["/w/{a"], ["/w/a"]],
		["/w/a,b}", ["/w/a,b}"], ["/w/a"]],
		["/w/line*", ["/w/line\nbreak"], []],
		["/w/*.ü", ["/w/x.ü"], ["/w/x.u"]],
	];
	test.each(cases)("%s matches whole paths, and no others", (pattern, matching, others) => {
		const expression = expressionOf(pattern);
		expect(matching.filter((path) => !expression.test(path))).toEqual([]);
		expect(others.filter((path) => expression.test(path))).toEqual([]);
	});

	test("a pattern with a reversed set of characters is refused", () => {
		expect(() => expressionOf("/w/[z-a]")).toThrow('invalid pattern "/w/[z-a]"');
	});
});

describe("the search for matching files", () => {
	async function tree(): Promise<string> {
		const root = await temporaryDirectory();
		await mkdir(join(root, "a/b/secrets/deep"), { recursive: true });
		for (const name of [".env", "a/x.env", "a/b/y.env", "a/b/secrets/z.env", "plain"])
			await writeFile(join(root, name), "");
		await symlink(join(root, "a/b"), join(root, "link.env"));
		return root;
	}

	test("matching files are found at any depth, also hidden ones, and never through a link", async () => {
		const root = await tree();
		const found = await matchesOf(`${root}/**/*.env`, Number.POSITIVE_INFINITY);
		const names = [".env", "a/b/secrets/z.env", "a/b/y.env", "a/x.env"];
		expect(found.toSorted()).toEqual(names.map((name) => join(root, name)));
	});

	test("the search stops at the requested depth", async () => {
		const root = await tree();
		expect(await matchesOf(`${root}/**/*.env`, 1)).toEqual([join(root, ".env")]);
		expect((await matchesOf(`${root}/**/*.env`, 2)).toSorted()).toEqual([join(root, ".env"), join(root, "a/x.env")]);
	});

	test("the search ends at a matching directory", async () => {
		const root = await tree();
		expect(await matchesOf(`${root}/**/{secrets,secrets/**}`, Number.POSITIVE_INFINITY)).toEqual([
			join(root, "a/b/secrets"),
		]);
	});

	test("a missing directory has no matching files", async () => {
		expect(await matchesOf(`${await temporaryDirectory()}/none/**/*.env`, Number.POSITIVE_INFINITY)).toEqual([]);
	});

	test("more than 2,000 matching files are refused", async () => {
		const root = await temporaryDirectory();
		await Promise.all(Array.from({ length: 2_001 }, (_, index) => writeFile(join(root, `${index}.env`), "")));
		await expect(matchesOf(`${root}/*.env`, 1)).rejects.toMatchObject({
			code: "limit_exceeded",
			message: `the pattern "${root}/*.env" matches too many files (limit 2000)`,
			hint: expect.stringContaining("glob_scan_max_depth"),
		});
	});
});
