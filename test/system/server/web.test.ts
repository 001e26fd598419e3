/** The web UI as it is served: one page, and files whose names change with their content. */

import { brotliDecompressSync, gunzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { ask, start } from "../../support/server.ts";

/** The paths of scripts, styles and images in the page at a path. */
async function linkedFrom(url: string): Promise<string[]> {
	const html = await (await fetch(url)).text();
	return [...html.matchAll(/(?:src|href)="([^"#]+)"/g)].map(([, link = ""]) => new URL(link, url).pathname);
}

describe("the page of the web UI", () => {
	it.each(["/", "/grid", "/settings", "/s/abc", "/s/abc/", "/s/abc/play", "/s/abc?at=5", "/w/default"])(
		"the page is served at %s without authentication, and finds its files from there",
		async (path) => {
			const { url } = await start();
			const response = await fetch(`${url}${path}`);
			expect(response.status).toBe(200);
			expect(response.headers.get("cache-control")).toBe("no-store");
			const links = await linkedFrom(`${url}${path}`);
			expect(links).toContain("/manifest.webmanifest");
			for (const link of links) expect([link, (await fetch(`${url}${link}`)).status]).toEqual([link, 200]);
		},
	);

	it("the page may run and load only its own files", async () => {
		const { url } = await start();
		const { headers } = await fetch(url);
		expect(headers.get("content-security-policy")).toBe(
			"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
				"manifest-src 'self'; worker-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; " +
				"require-trusted-types-for 'script'; trusted-types lit-html hawser-worker",
		);
		expect(headers.get("x-content-type-options")).toBe("nosniff");
		expect(headers.get("referrer-policy")).toBe("no-referrer");
		expect(headers.get("cross-origin-opener-policy")).toBe("same-origin");
		expect(headers.get("permissions-policy")).toBe("clipboard-read=(self), clipboard-write=(self)");
	});
});

describe("the files of the web UI", () => {
	it("files are cached forever, in an encoding that the browser accepts", async () => {
		const { url } = await start();
		const [script = ""] = (await linkedFrom(url)).filter((link) => link.endsWith(".js"));
		expect(script).toMatch(/^\/assets\/main-[\w-]+\.js$/);
		const get = (accepted: string) =>
			ask(url, { method: "GET", path: script, headers: { "accept-encoding": accepted } });
		const decoders = { "": (raw: Buffer) => raw, br: brotliDecompressSync, gzip: gunzipSync } as const;
		const texts = new Set<string>();
		for (const [encoding, decode] of Object.entries(decoders)) {
			const { text } = await get(encoding === "" ? "br;q=0, identity" : `deflate, ${encoding}`);
			const end = text.indexOf("]") + 1;
			const head = text.slice(0, end);
			expect(head).toContain("immutable");
			expect(head.includes('"content-encoding"')).toBe(encoding !== "");
			texts.add(decode(Buffer.from(text.slice(end), "latin1")).toString());
		}
		expect(texts.size).toBe(1);
	});

	it.each([
		"/assets/main-gone.js",
		"/assets/..%2Findex.html",
		"/assets/..%2F..%2Fpackage.json",
		"/assets/.hidden.js",
		"/icons/icon",
		"/icons/%2e%2e%2fworker.js",
		"/index.html",
	])("a missing file at %s answers 404 instead of the page", async (path) => {
		const { url } = await start();
		const { status, text } = await ask(url, { method: "GET", path });
		expect(status).toBe(404);
		expect(text).toContain('"not_found"');
	});
});
