import { generateKeyPairSync } from "node:crypto";
import { describe, expect, it } from "vitest";
import { MAX_JWT_BYTES, parseJwtKey } from "../../src/access/jwt.ts";
import { JwtBearers } from "../../src/access/jwt-bearers.ts";
import { FakeClock } from "../helpers/fake-clock.ts";
import { AUDIENCE, edSigner, hmacSigner, ISSUER, part, rsaSigner, SECRET, type Signer } from "./jwt-signer.ts";
import { bearer, openAccess } from "./open-access.ts";

function believing(signer: Signer, clock = new FakeClock()) {
	const rules = { key: parseJwtKey(signer.keyFile), issuer: ISSUER, audience: AUDIENCE };
	const bearers = new JwtBearers({ rules, clock, creationRate: { perSecond: 1, burst: 2 } });
	return { bearers, clock, seconds: clock.now() / 1000 };
}

const hmac = hmacSigner();
const rsa = rsaSigner();
const ed = edSigner();
const red = { workspaces: { red: "operate", blue: "read" } };

describe("a JWT", () => {
	it("of each kind of key is worth the rights that it names, in the workspaces that it names", () => {
		for (const signer of [hmac, rsa, ed]) {
			const principal = believing(signer).bearers.verify(signer.sign(red));
			expect(principal).toMatchObject({ id: "jwt:alice", name: "jwt:alice", user: "alice", isAdmin: false });
			const may = (right: "read" | "operate" | "manage", workspace: string) => principal?.may(right, { workspace });
			expect([may("read", "red"), may("operate", "red"), may("manage", "red")]).toEqual([true, true, false]);
			expect([may("read", "blue"), may("operate", "blue")]).toEqual([true, false]);
			expect(may("read", "green")).toBe(false);
		}
	});

	it("is refused under any algorithm but the one of the key, whoever signed it", () => {
		// The classic: a public key, which everybody has, used as the secret of an HMAC.
		for (const known of [rsa, ed]) {
			const confused = hmacSigner(known.keyFile.trimEnd()).sign(red);
			const withNewline = hmacSigner(known.keyFile).sign(red);
			for (const token of [confused, withNewline])
				expect(() => believing(known).bearers.verify(token)).toThrow(/signature/);
		}
		expect(() => believing(hmac).bearers.verify(rsa.sign(red))).toThrow(/signature/);
		expect(() => believing(rsa).bearers.verify(ed.sign(red))).toThrow(/signature/);
		for (const alg of ["none", "None", "", "HS384", "RS256", null, undefined, ["HS256"]]) {
			expect(() => believing(hmac).bearers.verify(hmac.sign(red, { alg }))).toThrow(/signature/);
		}
	});

	it("without a signature, with another's, or changed afterwards, is refused", () => {
		const { bearers } = believing(hmac);
		const [head, body, signature] = hmac.sign(red).split(".");
		const forged = part({ iss: ISSUER, aud: AUDIENCE, sub: "mallory", exp: 4e9, workspaces: { red: "manage" } });
		for (const token of [
			`${part({ alg: "none" })}.${body}.AA`,
			`${head}.${forged}.${signature}`,
			`${head}.${body}.${signature?.slice(0, -2)}`,
			hmacSigner("another-secret-that-nobody-here-believes").sign(red),
		]) {
			expect(() => bearers.verify(token)).toThrow(/signature/);
		}
		for (const token of [
			`${part({ alg: "none" })}.${body}.`,
			`${head}.${body}`,
			"hwt_1_2",
			"",
			"a.b.c.d",
			`${head}.${body}.${signature} `,
		]) {
			expect(bearers.verify(token)).toBeUndefined();
		}
	});

	it("is refused for another issuer or audience, before its time and after it, and without an end or a subject", () => {
		const { bearers, seconds } = believing(hmac);
		const refused: [object, RegExp][] = [
			[{ iss: "https://evil.test" }, /issuer/],
			[{ iss: undefined }, /issuer/],
			[{ aud: "another" }, /not meant/],
			[{ aud: undefined }, /not meant/],
			[{ aud: [AUDIENCE.slice(1), ["hawser"]] }, /not meant/],
			[{ exp: undefined }, /no end/],
			[{ exp: "4000000000" }, /no end/],
			[{ exp: Number.MAX_VALUE }, /no end/],
			[{ exp: seconds }, /has expired/],
			[{ nbf: seconds + 31 }, /not come/],
			[{ nbf: "soon" }, /not come/],
			[{ sub: undefined }, /nobody/],
			[{ sub: "" }, /nobody/],
			[{ sub: "a\u001b[2J" }, /nobody/],
			[{ sub: "a".repeat(129) }, /nobody/],
		];
		for (const [claims, why] of refused) expect(() => bearers.verify(hmac.sign(claims))).toThrow(why);
		expect(() => bearers.verify(hmac.sign({}, { crit: ["exp"] }))).toThrow(/critical/);
		expect(bearers.verify(hmac.sign({ aud: ["other", AUDIENCE], nbf: seconds + 30, exp: seconds + 1 }))).toBeDefined();
	});

	it("that is longer than any should be is not even looked at", () => {
		const { bearers } = believing(hmac);
		const long = hmac.sign({ pad: "x".repeat(MAX_JWT_BYTES) });
		expect(bearers.verify(long)).toBeUndefined();
	});

	it("gives no right by a claim of another form", () => {
		const { bearers } = believing(hmac);
		const odd = [
			["red"],
			"red",
			null,
			{ red: ["manage"] },
			{ red: "owner" },
			{ "red:manage": "read" },
			{ "*": "manage" },
		];
		for (const workspaces of odd) {
			const principal = bearers.verify(hmac.sign({ workspaces, scopes: ["admin"], admin: true }));
			expect(principal?.isAdmin).toBe(false);
			expect(principal?.may("read", { workspace: "red" })).toBe(false);
		}
	});

	it("ends what it has open in the moment when it is over", () => {
		const { bearers, clock, seconds } = believing(hmac);
		const short = bearers.verify(hmac.sign({ ...red, exp: seconds + 100 }));
		const long = bearers.verify(hmac.sign({ ...red, exp: seconds + 200 }));
		clock.advance(99_999);
		expect([short?.revoked.aborted, short?.may("read", { workspace: "red" })]).toEqual([false, true]);
		clock.advance(1);
		expect([short?.revoked.aborted, short?.may("read", { workspace: "red" })]).toEqual([true, false]);
		expect(long?.revoked.aborted).toBe(false);
		clock.advance(100_000);
		expect([long?.revoked.aborted, clock.pending]).toEqual([true, 0]);
	});

	it("is the same caller each time, and all of one subject share what they may make", () => {
		const { bearers } = believing(hmac);
		const token = hmac.sign(red);
		const first = bearers.verify(token);
		expect(bearers.verify(token)).toBe(first);
		const second = bearers.verify(hmac.sign({ ...red, jti: "2" }));
		expect(second).not.toBe(first);
		expect([first?.countCreation(), second?.countCreation()]).toEqual([0, 0]);
		expect(second?.countCreation()).toBeGreaterThan(0);
		expect(bearers.verify(hmac.sign({ sub: "bob" }))?.countCreation()).toBe(0);
	});

	it("of one subject, however many there are, keeps none of another out", () => {
		const { bearers } = believing(hmac);
		const verify = (claims: object) => bearers.verify(hmac.sign({ ...red, ...claims })) ?? expect.fail();
		const used = verify({ jti: "used" });
		used.revoked.addEventListener("abort", () => {});
		const bob = verify({ sub: "bob" });
		for (let index = 0; index < 10_100; index++) verify({ jti: String(index) });
		expect(verify({ sub: "carol" }).may("read", { workspace: "red" })).toBe(true);
		// Those go that nobody needs, which can be shown again.
		expect([used, bob].map(({ revoked }) => revoked.aborted)).toEqual([false, false]);
		expect(verify({ jti: "0" }).may("read", { workspace: "red" })).toBe(true);
		bearers.close();
	}, 20_000);
});

describe("the key of JWTs", () => {
	it("is a public key or a secret, and nothing that could be mistaken for one", () => {
		const { privateKey, publicKey } = generateKeyPairSync("ed25519");
		const refused: [string, RegExp][] = [
			["", /neither/],
			["short", /less than 32/],
			[privateKey.export({ type: "pkcs8", format: "pem" }).toString(), /private key/],
			["-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n", /can be read/],
			[JSON.stringify(publicKey.export({ format: "jwk" })), /neither/],
			[`ssh-ed25519 ${"A".repeat(68)} somebody`, /neither/],
			[publicKey.export({ type: "spki", format: "der" }).toString("latin1"), /neither/],
			[rsaSigner(1024).keyFile, /1024 bits/],
			[
				generateKeyPairSync("ec", { namedCurve: "P-256" }).publicKey.export({ type: "spki", format: "pem" }).toString(),
				/type ec/,
			],
		];
		for (const [text, why] of refused) expect(() => parseJwtKey(text)).toThrow(why);
		expect(parseJwtKey(`${SECRET}\r\n`).algorithm).toBe("HS256");
		expect([parseJwtKey(rsa.keyFile).algorithm, parseJwtKey(ed.keyFile).algorithm]).toEqual(["RS256", "EdDSA"]);
	});
});

describe("access with JWTs", () => {
	it("takes them where tokens are taken, and lets them make no tokens", async () => {
		const { bearers } = believing(hmac);
		const { access } = await openAccess({ verify: (shown) => bearers.verify(shown) });
		const principal = access.authorize(bearer(hmac.sign(red)));
		expect(principal.name).toBe("jwt:alice");
		expect(() => access.authorize(bearer(rsa.sign(red)))).toThrow(/the JWT is not valid/);
		expect(() => access.authorize(bearer("nonsense"))).toThrow(/the token is not valid/);
		await expect(access.createToken(principal, { scopes: ["workspace:red:read"] })).rejects.toThrow(
			/a JWT can't make tokens/,
		);
		expect(access.listTokens(principal)).toEqual([]);
	});
});
