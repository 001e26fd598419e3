import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Masks } from "../../src/core/masks.ts";

/** In base64 it has both letters that are others in addresses. */
const SECRET = "Tr0ub4dor & 'three'?ä>>>???";

/** What is seen of output that comes in these pieces. */
function seen(pieces: readonly Uint8Array[], ...secrets: string[]): string {
	const masks = new Masks();
	for (const secret of secrets) masks.add(Buffer.from(secret));
	const parts = pieces.map((piece) => masks.take(piece));
	return Buffer.concat([...parts, masks.release()]).toString();
}

function forms(secret: string): string[] {
	const base64 = (before: string) => Buffer.from(`${before}${secret}#end`).toString("base64");
	return [
		secret,
		encodeURIComponent(secret),
		JSON.stringify(secret).slice(1, -1),
		Buffer.from(secret).toString("hex"),
		Buffer.from(secret).toString("hex").toUpperCase(),
		secret.replaceAll("'", "'\\''"),
		secret.replaceAll("'", `'"'"'`),
		encodeURIComponent(secret).replaceAll("'", "%27"),
		encodeURIComponent(secret).replaceAll(/%../g, (code) => code.toLowerCase()),
		secret.replaceAll(/[ &'?>]/g, "\\$&"),
		new URLSearchParams([["", secret]]).toString().slice(1),
		...["", "a", "ab", "abc"].map(base64),
		...["", "a", "ab"].map((before) => base64(before).replaceAll("+", "-").replaceAll("/", "_")),
	];
}

describe("a value that must not be in the output", () => {
	it.each(forms(SECRET))("is overwritten, and nothing else, where it is written as %s", (form) => {
		const text = seen([Buffer.from(`before ${form} after`)], SECRET);
		expect(Buffer.byteLength(text)).toBe(Buffer.byteLength(`before ${form} after`));
		expect(text).toMatch(/^before .*\*{6}.* after$/);
		expect(text).not.toContain(SECRET.slice(0, 6));
		// Of base64 what depends on its neighbours may stay: three letters at each end.
		expect(text.replaceAll(/[^*]/g, "").length).toBeGreaterThanOrEqual(form.length - 14);
	});

	it("is overwritten to its last letter in base64, where it ends there or with its line", () => {
		for (const value of ["password", "password1", "password12"]) {
			for (const end of ["", "\n"]) {
				const written = Buffer.from(`${value}${end}`).toString("base64");
				const [, stars = "", rest = ""] = /^(\**)(.*)$/.exec(seen([Buffer.from(written)], value)) ?? [];
				expect(stars.length).toBe(Math.ceil((value.length * 8) / 6));
				expect(Buffer.from(rest, "base64").toString()).not.toMatch(/[a-z0-9]/);
			}
		}
	});

	it.each([
		["base64 writes it, in lines of 76", "base64", /.{1,76}/g],
		["OpenSSL writes it, in lines of 64", "base64", /.{1,64}/g],
		["xxd writes it, in lines of 60", "hex", /.{1,60}/g],
	] as const)("is overwritten as %s, and the line ends stay", (_title, encoding, lines) => {
		const secret = Array.from({ length: 93 }, (_, index) => String.fromCharCode(33 + index)).join("");
		for (const end of ["\n", "\r\n", "\r\r\n"]) {
			const text = `${Buffer.from(secret).toString(encoding).match(lines)?.join(end)}${end}`;
			const stars = text.replaceAll(/[^\r\n]/g, "*");
			expect(seen([Buffer.from(text)], secret)).toBe(stars);
			expect(
				seen(
					text.split("").map((byte) => Buffer.from(byte)),
					secret,
				),
			).toBe(stars);
		}
	});

	it("does not go on behind an empty line, and what may be its beginning is not held by more of them", () => {
		const masks = new Masks();
		masks.add(Buffer.from("password"));
		expect(masks.take(Buffer.from("pass\r\n")).byteLength).toBe(0);
		expect(Buffer.from(masks.take(Buffer.from("\r\nword"))).toString()).toBe("pass\r\n\r\nword");
		expect(masks.isHolding).toBe(false);
	});

	it.each([
		["Python writes JSON", "gehe\u00efm-\u{1f511}", "gehe\\u00efm-\\ud83d\\udd11"],
		["Go writes JSON", "abc&def<ghi>\u00ef", "abc\\u0026def\\u003cghi\\u003e\u00ef"],
		["bash declares it", 'my$ecret!`pa"ss', 'my\\$ecret!\\`pa\\"ss'],
		["bash quotes it with letters of all the world", "gehe\u00efm wort", "gehe\u00efm\\ wort"],
		["Python quotes one kind of quotes", 'a\\"secret', 'a\\\\"secret'],
		["Python quotes both", 'it\'s a "secret"', 'it\\\'s a "secret"'],
	])("is overwritten as %s", (_title, secret, written) => {
		expect(seen([Buffer.from(`P=${written};`)], secret)).toBe(`P=${"*".repeat(Buffer.byteLength(written))};`);
	});

	it("is overwritten where it overlaps itself", () => {
		const shown = (text: string, secret: string) => seen([Buffer.from(text)], secret);
		expect(shown("-abcabcabcab-", "abcabcab")).toBe(`-${"*".repeat(11)}-`);
		expect(shown("-abcabcabca-", "abcabcab")).toBe("-********ca-");
		// By less than its period has left.
		expect(shown("-aabbaaabbaa-", "aabbaa")).toBe(`-${"*".repeat(11)}-`);
		expect(shown("aaaaaaaaa b aaaaaa", "aaaaaa")).toBe("********* b ******");
	});

	it("is found however the output is cut, and nothing of it gets out before that is known", () => {
		const text = `$ cat file\r\n${forms(SECRET).join("\r\n")}\r\n${SECRET}${SECRET}\r\n$ `;
		const whole = seen([Buffer.from(text)], SECRET);
		fc.assert(
			fc.property(fc.array(fc.integer({ min: 1, max: 30 })), (lengths) => {
				const bytes = Buffer.from(text);
				const pieces: Buffer[] = [];
				let from = 0;
				for (const length of lengths) {
					pieces.push(bytes.subarray(from, from + length));
					from += length;
				}
				expect(seen([...pieces, bytes.subarray(from)], SECRET)).toBe(whole);
			}),
		);
	});

	it("is found each time, also where one follows on the other", () => {
		expect(seen([Buffer.from("passwordpassword")], "password")).toBe("*".repeat(16));
	});

	it("stays if it is too short to be told from other text", () => {
		expect(seen([Buffer.from("a PIN of 12345")], "12345")).toBe("a PIN of 12345");
	});

	it("does not hide another one that it is a part of", () => {
		for (const pieces of [["secret-word secret secret-"], [..."secret-word secret secret-"]]) {
			const bytes = pieces.map((piece) => Buffer.from(piece));
			expect(seen(bytes, "secret", "secret-word", "t-x-y-z")).toBe("*********** ****** ******-");
		}
	});

	it("is refused when there are too many, and counts once", () => {
		const masks = new Masks();
		for (let count = 0; count < 64; count++) masks.add(Buffer.from(`password-${count}`));
		masks.add(Buffer.from("password-7"));
		expect(() => masks.add(Buffer.from("password-64"))).toThrow("64 secrets");
	});
});

it("what could be the beginning of one is held until it is known, and let go unchanged", () => {
	const masks = new Masks();
	expect(masks.take(Buffer.from("x")).byteLength).toBe(1);
	masks.add(Buffer.from("password"));
	expect(Buffer.from(masks.take(Buffer.from("my pass"))).toString()).toBe("my ");
	expect(masks.isHolding).toBe(true);
	expect(Buffer.from(masks.take(Buffer.from("port"))).toString()).toBe("passport");
	expect(Buffer.from(masks.take(Buffer.from("passw"))).toString()).toBe("");
	expect(Buffer.from(masks.release()).toString()).toBe("passw");
	expect(masks.isHolding).toBe(false);
});
