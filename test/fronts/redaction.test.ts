import { describe, expect, it } from "vitest";
import { Redaction, redacted, redactedRows } from "../../src/fronts/redaction.ts";

/** Put together here, so that nobody takes this file for a leak. */
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

describe("what agents read", () => {
	it.each(Object.entries(secrets))("has a mark where a %s was", (kind, secret) => {
		expect(redacted(`TOKEN="${secret}" and on\n${secret}`)).toBe(
			`TOKEN="[redacted: ${kind}]" and on\n[redacted: ${kind}]`,
		);
	});

	it("has no passwords of addresses, bearer tokens, and secret keys that are named so", () => {
		expect(redacted("git clone https://bob:hunter2@example.org/x")).toBe(
			"git clone https://bob:[redacted: password]@example.org/x",
		);
		expect(redacted(`curl -H 'Authorization: Bearer ${"abc.".repeat(6)}'`)).toBe(
			"curl -H 'Authorization: Bearer [redacted: bearer token]'",
		);
		expect(redacted(`AWS_SECRET_ACCESS_KEY = ${"wJal/+rX".repeat(5)}`)).toBe(
			"AWS_SECRET_ACCESS_KEY = [redacted: aws secret key]",
		);
	});

	it.each(["", "RSA ", "OPENSSH ", "ENCRYPTED "])("has no %sprivate key, but what is around it", (kind) => {
		expect(redacted(`before\n${privateKey(kind)}\nafter`)).toBe("before\n[redacted: private key]\n\nafter");
		const inOneLine = privateKey(kind).replaceAll("\n", "\\n");
		expect(redacted(`{"key":"${inOneLine}","x":1}`)).toBe('{"key":"[redacted: private key]","x":1}');
	});

	it("has no long private key either", () => {
		const long = privateKey("RSA ").replace("MIIEabc/+", "MIIEabc/+\n".repeat(100).trimEnd());
		expect(redacted(`${long}\nafter`)).toBe("[redacted: private key]\n\nafter");
	});

	it("is not changed where there is none", () => {
		const text = [
			"sk-ip and risk-free; ghp_ is how they begin, AKIAs too",
			"-----BEGIN CERTIFICATE-----\nMIIEabc\n-----END CERTIFICATE-----",
			"http://localhost:8080/a@b, at 12:30, user:group, commit 7134e0b5a9c4d2f8e6b1",
			"the bearer of bad news",
		].join("\n");
		expect(redacted(text)).toBe(text);
		expect(redacted(redacted(Object.values(secrets).join("\n")))).toBe(redacted(Object.values(secrets).join("\n")));
	});

	it("goes on after what only began like a private key", () => {
		const text = `-----BEGIN PRIVATE KEY-----\n${"line\n".repeat(300)}end`;
		expect(redacted(text)).toMatch(/^\[redacted: private key\]\n(line\n)+end$/);
	});
});

it("a secret that is read in two parts, wherever it is cut, is in neither of them", () => {
	for (const [kind, secret] of Object.entries(secrets)) {
		const least = kind === "jwt" ? 4 : 5;
		for (let cut = 1; cut < secret.length; cut++) {
			const first = redacted(`x=${secret.slice(0, cut)}`);
			const second = new Redaction(`earlier\nx=${secret.slice(0, cut)}`).line(`${secret.slice(cut)} after`, false);
			expect(second).toBe(`[redacted: ${kind}] after`);
			// As long as it could be anything else, its beginning is told.
			expect(secret.slice(0, least + 8).startsWith(first.slice(2)) || first === `x=[redacted: ${kind}]`).toBe(true);
		}
	}
	const [before = "", after = ""] = privateKey("RSA ").split("abc");
	const rest = new Redaction(`some\n${before}`);
	expect(after.split("\n").map((line) => rest.line(line, false))).toEqual([undefined, undefined, ""]);
});

it("a secret that goes over the end of a row of a screen is found", () => {
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
	// Of the processor: how long others have it says nothing.
	const took = (bytes: number) => {
		const text = part.repeat(bytes / part.length);
		const begun = process.cpuUsage();
		redacted(text);
		return process.cpuUsage(begun).user / 1000;
	};
	took(16 * 1024);
	// Were it quadratic, four times as much would take sixteen times as long.
	expect(took(256 * 1024)).toBeLessThan(10 * took(64 * 1024) + 50);
});
