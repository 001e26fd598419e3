import { expect, it } from "vitest";
import { isAllowedOrigin } from "../../src/http/origin.ts";

const allowed = ["https://ide.example", "http://localhost:5173/"];

it.each([
	["http://127.0.0.1:7707", "127.0.0.1:7707", true],
	["http://LOCALHOST:7707", "localhost:7707", true],
	["http://[::1]:7707", "[::1]:7707", true],
	["http://a.example", "a.example:80", true],
	["https://ide.example", "localhost:7707", true],
	["https://ide.example:443", "localhost:7707", true],
	["http://ide.example", "localhost:7707", false],
	["https://ide.example.evil.test", "localhost:7707", false],
	["https://evil.test", "localhost:7707", false],
	["http://localhost:7708", "localhost:7707", false],
	["http://localhost", "localhost:7707", false],
	["https://localhost:7707", "localhost:7707", false],
	["http://localhost:7707@evil.test", "localhost:7707", false],
	["http://localhost:7707/", "localhost:7707", false],
	["null", "null", false],
	["", "localhost:7707", false],
	["file://", "localhost:7707", false],
	["http://localhost:7707, http://evil.test", "localhost:7707", false],
	["http://localhost:7707", undefined, false],
])("a page of %j may use %j: %s", (origin, host, expected) => {
	expect(
		isAllowedOrigin(origin, host, { scheme: "http:", allowed: allowed.map((one) => one.replace(/\/$/, "")) }),
	).toBe(expected);
});

it("behind TLS a plain page has another origin", () => {
	const origins = { scheme: "https:", allowed: [] } as const;
	expect(isAllowedOrigin("https://a.example", "a.example", origins)).toBe(true);
	expect(isAllowedOrigin("http://a.example", "a.example", origins)).toBe(false);
});
