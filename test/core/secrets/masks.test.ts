import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { SecretMasker } from "../../../src/core/secrets/masks.ts";

/** Its base64 has both letters that differ in the URL alphabet. */
const SECRET = "Tr0ub4dor & 'three'?ä>>>???";

/** The visible part of output that arrives in these pieces. */
function seen(pieces: readonly Uint8Array[], ...secrets: string[]): string {
	const masks = new SecretMasker();
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
		encodeURIComponent(secret).replaceAll("%20", "+"),
		...["", "a", "ab", "abc"].map(base64),
		...["", "a", "ab"].map((before) => base64(before).replaceAll("+", "-").replaceAll("/", "_")),
	];
}

describe("a masked value", () => {
	it.each(forms(SECRET))("a masked value is overwritten, and nothing else, where it is written as %s", (form) => {
		const text = seen([Buffer.from(`before ${form} after`)], SECRET);
		expect(Buffer.byteLength(text)).toBe(Buffer.byteLength(`before ${form} after`));
		expect(text).toMatch(/^before .*\*{6}.* after$/);
		expect(text).not.toContain(SECRET.slice(0, 6));
		// Base64 letters that depend on neighboring bytes may remain: three at each end.
		expect(text.replaceAll(/[^*]/g, "").length).toBeGreaterThanOrEqual(form.length - 14);
	});

	it("a masked value is overwritten in a form that PHP encodes, with `*` and `~` as numbers", () => {
		expect(seen([Buffer.from("before a+b%2Ac%7Ed%21 after")], "a b*c~d!")).toBe(`before ${"*".repeat(14)} after`);
	});

	it("a masked value is overwritten to its last letter in base64 that ends there or with its line", () => {
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
	] as const)("a masked value is overwritten as %s, and the line ends stay", (_title, encoding, lines) => {
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

	it("a masked value does not continue after an empty line, and more empty lines do not hold its possible beginning", () => {
		const masks = new SecretMasker();
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
		["shells mark their commands", "se;cret\\;", "se\\x3bcret\\\\\\x3b"],
		["shells mark their directory", "100%;/secret", "100%25;/secret"],
		["upper case", "Hunter-two", "HUNTER-TWO"],
		["lower case", "Hunter-TWO", "hunter-two"],
		["hexadecimals of either case", "hunter-two\u00ef", "68756E7465722d74776Fc3AF"],
		["an address with digits of either case", "a/b:c?d=\u00ef", "a%2fb%3Ac%3Fd%3d%c3%AF"],
		["an address in which each byte is encoded", "hunter", "%68%75%6E%74%65%72"],
	])("a masked value is overwritten as %s", (_title, secret, written) => {
		expect(seen([Buffer.from(`P=${written};`)], secret)).toBe(`P=${"*".repeat(Buffer.byteLength(written))};`);
	});

	it.each([
		["grep --color", "se\u001b[01;31m\u001b[Kcret-wo\u001b[m\u001b[Krd"],
		["a color for each letter", [..."secret-word"].map((letter) => `\u001b[38;2;1;22;255m${letter}\u001b[0m`).join("")],
		["tput, which also selects the usual characters", "se\u001b[31mcret\u001b(B\u001b[m-word"],
		["a color across a line end", "secret\u001b[0m\r\n\u001b[1m-word"],
	])("a masked value is overwritten in the colors of %s, which stay", (_title, written) => {
		const letters = written.split(/(\u001b\[[\d;]*[mK]|\u001b\(B|[\r\n])/);
		const masked = letters.map((part, index) => (index % 2 === 0 ? "*".repeat(part.length) : part)).join("");
		expect(seen([Buffer.from(`<${written}>`)], "secret-word")).toBe(`<${masked}>`);
		const bytes = [...`<${written}>`].map((letter) => Buffer.from(letter));
		expect(seen(bytes, "secret-word")).toBe(`<${masked}>`);
	});

	it.each([
		["the cursor moves", "secret\u001b[2C-word"],
		["a sequence does not end", `secret\u001b[${"1;".repeat(20)}m-word`],
		["there are too many colors", `secret${"\u001b[1;31m".repeat(20)}-word`],
		["there is a character of another kind", "secret\u001b(0-word"],
	])("a masked value is another text with %s inside it", (_title, written) => {
		expect(seen([Buffer.from(written)], "secret-word")).toBe(written);
		expect(
			seen(
				[...written].map((letter) => Buffer.from(letter)),
				"secret-word",
			),
		).toBe(written);
	});

	it("a masked value is overwritten where it overlaps itself", () => {
		const shown = (text: string, secret: string) => seen([Buffer.from(text)], secret);
		expect(shown("-abcabcabcab-", "abcabcab")).toBe(`-${"*".repeat(11)}-`);
		expect(shown("-abcabcabca-", "abcabcab")).toBe("-********ca-");
		// By less than its period has left.
		expect(shown("-aabbaaabbaa-", "aabbaa")).toBe(`-${"*".repeat(11)}-`);
		expect(shown("aaaaaaaaa b aaaaaa", "aaaaaa")).toBe("********* b ******");
	});

	it("a masked value is found however the output is split, and nothing of it is released before that is known", () => {
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

	it("a masked value is found each time, also with one directly after another", () => {
		expect(seen([Buffer.from("passwordpassword")], "password")).toBe("*".repeat(16));
	});

	it("a value too short to be distinct from other text is not masked", () => {
		expect(seen([Buffer.from("a PIN of 12345")], "12345")).toBe("a PIN of 12345");
	});

	it("a masked value does not hide another one that it is a part of", () => {
		for (const pieces of [["secret-word secret secret+"], [..."secret-word secret secret+"]]) {
			const bytes = pieces.map((piece) => Buffer.from(piece));
			expect(seen(bytes, "secret", "secret-word", "t-x-y-z")).toBe("*********** ****** ******+");
		}
	});

	it("a masked value above the limit is refused, and a duplicate counts once", () => {
		const masks = new SecretMasker();
		for (let count = 0; count < 64; count++) masks.add(Buffer.from(`password-${count}`));
		masks.add(Buffer.from("password-7"));
		expect(() => masks.add(Buffer.from("password-64"))).toThrow("limit 64");
	});
});

it("a possible beginning is held until it is known, and released unchanged", () => {
	const masks = new SecretMasker();
	expect(masks.take(Buffer.from("x")).byteLength).toBe(1);
	masks.add(Buffer.from("password"));
	expect(Buffer.from(masks.take(Buffer.from("my pass"))).toString()).toBe("my ");
	expect(masks.isHolding).toBe(true);
	expect(Buffer.from(masks.take(Buffer.from("port"))).toString()).toBe("passport");
	expect(Buffer.from(masks.take(Buffer.from("passw"))).toString()).toBe("");
	expect(Buffer.from(masks.release()).toString()).toBe("passw");
	expect(masks.isHolding).toBe(false);
});

it("a value that repeats itself endlessly is masked as it arrives, and no more is held than one value", () => {
	const masks = new SecretMasker();
	masks.add(Buffer.from("abcabcab"));
	let shown = "";
	for (let count = 0; count < 10_000; count++) shown += Buffer.from(masks.take(Buffer.from("abc"))).toString();
	expect(shown).toMatch(/^\*+$/);
	expect(shown.length).toBeGreaterThan(30_000 - "abcabcab".length);
	shown += Buffer.from(masks.take(Buffer.from("d"))).toString();
	expect(shown).toBe(`${"*".repeat(29_999)}cd`);
});

it("a text is masked as a whole, and a possible beginning at its end only where it was cut", () => {
	const masks = new SecretMasker();
	expect(masks.hide("echo hunter-two", true)).toBe("echo hunter-two");
	masks.add(Buffer.from("hunter-two"));
	expect(masks.hide("echo 'ä' HUNTER-two; echo hun", false)).toBe("echo 'ä' **********; echo hun");
	expect(masks.hide("echo 'ä' hunter-two; echo hun", true)).toBe("echo 'ä' **********; echo ***");
	expect(masks.hide("echo \ud800", false)).toBe("echo \ud800");
	expect(masks.isHolding).toBe(false);
});
