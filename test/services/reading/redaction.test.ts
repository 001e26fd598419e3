import { describe, expect, it } from "vitest";
import { Redactor, redact, redactedRows } from "../../../src/services/reading/redaction.ts";

/** Assembled here, so that scanners do not take this file for a leak. */
const secrets: Readonly<Record<string, string>> = {
	"aws key": `AKIA${"Q7X2".repeat(4)}`,
	"github token": `ghp_${"a1B2".repeat(9)}`,
	"gitlab token": `glpat-${"x9-Y".repeat(5)}`,
	"slack token": `xoxb-${"12345-".repeat(4)}`,
	"google key": `AIza${"aB_-9".repeat(7)}`,
	"stripe key": `sk_live_${"4eC3".repeat(6)}`,
	"npm token": `npm_${"Zz09".repeat(9)}`,
	"api key": `sk-ant-${"api03-Zz_9".repeat(4)}`,
	jwt: `eyJ${"hbGc".repeat(5)}.eyJ${"zdWI".repeat(5)}.${"c2ln".repeat(8)}`,
};
const privateKey = (kind: string) =>
	[`-----BEGIN ${kind}PRIVATE KEY-----`, "MIIEabc/+", "c2VjcmV0", `-----END ${kind}PRIVATE KEY-----`].join("\n");

describe("text for agents", () => {
	it.each(Object.entries(secrets))("a %s is replaced by a mark", (kind, secret) => {
		expect(redact(`TOKEN="${secret}" and on\n${secret}`)).toBe(
			`TOKEN="[redacted: ${kind}]" and on\n[redacted: ${kind}]`,
		);
	});

	it("passwords in URLs, bearer tokens and secret keys after their names are redacted", () => {
		expect(redact("git clone https://bob:hunter2@example.org/x")).toBe(
			"git clone https://bob:[redacted: password]@example.org/x",
		);
		expect(redact(`curl -H 'Authorization: Bearer ${"abc.".repeat(6)}'`)).toBe(
			"curl -H 'Authorization: Bearer [redacted: bearer token]'",
		);
		expect(redact(`AWS_SECRET_ACCESS_KEY = ${"wJal/+rX".repeat(5)}`)).toBe(
			"AWS_SECRET_ACCESS_KEY = [redacted: aws secret key]",
		);
	});

	it.each(["", "RSA ", "OPENSSH ", "ENCRYPTED "])(
		"a %sprivate key is removed, and the text around it stays",
		(kind) => {
			expect(redact(`before\n${privateKey(kind)}\nafter`)).toBe("before\n[redacted: private key]\n\nafter");
			const inOneLine = privateKey(kind).replaceAll("\n", "\\n");
			expect(redact(`{"key":"${inOneLine}","x":1}`)).toBe('{"key":"[redacted: private key]","x":1}');
		},
	);

	it("a long private key is removed", () => {
		const long = privateKey("RSA ").replace("MIIEabc/+", "MIIEabc/+\n".repeat(100).trimEnd());
		expect(redact(`${long}\nafter`)).toBe("[redacted: private key]\n\nafter");
	});

	it("text without secrets is not changed", () => {
		const text = [
			"sk-ip and risk-free; ghp_ is how they begin, AKIAs too",
			"-----BEGIN CERTIFICATE-----\nMIIEabc\n-----END CERTIFICATE-----",
			"http://localhost:8080/a@b, at 12:30, user:group, commit 7134e0b5a9c4d2f8e6b1",
			"the bearer of bad news",
		].join("\n");
		expect(redact(text)).toBe(text);
		expect(redact(redact(Object.values(secrets).join("\n")))).toBe(redact(Object.values(secrets).join("\n")));
	});

	it("text after an incomplete private key stays", () => {
		const text = `-----BEGIN PRIVATE KEY-----\n${"line\n".repeat(300)}end`;
		expect(redact(text)).toMatch(/^\[redacted: private key\]\n(line\n)+end$/);
	});
});

it("a secret in two parts is redacted in both, wherever it is cut", () => {
	for (const [kind, secret] of Object.entries(secrets)) {
		const least = kind === "jwt" ? 4 : 5;
		for (let cut = 1; cut < secret.length; cut++) {
			const first = redact(`x=${secret.slice(0, cut)}`);
			const second = new Redactor(`earlier\nx=${secret.slice(0, cut)}`).line(`${secret.slice(cut)} after`, false);
			expect(second).toBe(`[redacted: ${kind}] after`);
			// While it may be something else, its beginning is shown.
			expect(secret.slice(0, least + 8).startsWith(first.slice(2)) || first === `x=[redacted: ${kind}]`).toBe(true);
		}
	}
	const [before = "", after = ""] = privateKey("RSA ").split("abc");
	const rest = new Redactor(`some\n${before}`);
	expect(after.split("\n").map((line) => rest.line(line, false))).toEqual([undefined, undefined, ""]);
});

it("a secret that continues in the next row of a screen is found", () => {
	const secret = secrets["github token"] ?? "";
	const line = `token ${secret} and more of it`;
	const rows = [line.slice(0, 20), line.slice(20, 40), line.slice(40), "next"];
	expect(redactedRows(rows, 20)).toEqual(["token [redacted: github token] and more of it", "", "", "next"]);
	expect(redactedRows(["x".repeat(20), "y"], 20)).toEqual(["x".repeat(20), "y"]);
});

it.each([
	"eyJ-",
	"a",
	"AKIA ",
	"-----BEGIN PRIVATE KEY----- ",
	"-----BEGIN PRIVATE KEY----- -----END PRIVATE KEY-----",
	"http://",
	"http://a:",
	"a://a:b",
	"bearer ",
	"aws_secret_access_key=",
])("is looked for in a time that grows with the text, also in one of nothing but %j", (part) => {
	// CPU time, which does not depend on other processes.
	const took = (bytes: number) => {
		const text = part.repeat(bytes / part.length);
		const begun = process.cpuUsage();
		redact(text);
		return process.cpuUsage(begun).user / 1000;
	};
	took(16 * 1024);
	// Quadratic time would be sixteen times as long for four times the text.
	expect(took(256 * 1024)).toBeLessThan(10 * took(64 * 1024) + 50);
});
