import { generateKeyPairSync } from "node:crypto";
import { describe, expect, it } from "vitest";
import { MAX_JWT_BYTES, parseJwtKey } from "../../src/access/jwt.ts";
import { JwtBearers } from "../../src/access/jwt-callers.ts";
import { grantorOf } from "../../src/core/policy/access.ts";
import { FakeClock } from "../support/fake-clock.ts";
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
	it("a JWT of each kind of key has the rights it names, in the workspaces it names", () => {
		for (const signer of [hmac, rsa, ed]) {
			const principal = believing(signer).bearers.verify(signer.sign(red));
			expect(principal).toMatchObject({ id: "jwt:alice", name: "jwt:alice", user: "alice", isAdmin: false });
			const may = (right: "read" | "operate" | "manage", workspace: string) => principal?.may(right, { workspace });
			expect([may("read", "red"), may("operate", "red"), may("manage", "red")]).toEqual([true, true, false]);
			expect([may("read", "blue"), may("operate", "blue")]).toEqual([true, false]);
			expect(may("read", "green")).toBe(false);
		}
	});

	it("a JWT is refused under any algorithm except its key's, with any signer", () => {
		// The classic attack: the public key, known to everyone, used as an HMAC secret.
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

	it("a JWT without a signature, with another's, or changed after signing, is refused", () => {
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

	it("a JWT is refused for another issuer or audience, before nbf, after exp, and without exp or sub", () => {
		const { bearers, seconds } = believing(hmac);
		const refused: [object, RegExp][] = [
			[{ iss: "https://evil.test" }, /issuer/],
			[{ iss: undefined }, /issuer/],
			[{ aud: "another" }, /wrong audience/],
			[{ aud: undefined }, /wrong audience/],
			[{ aud: [AUDIENCE.slice(1), ["hawser"]] }, /wrong audience/],
			[{ exp: undefined }, /exp/],
			[{ exp: "4000000000" }, /exp/],
			[{ exp: Number.MAX_VALUE }, /exp/],
			[{ exp: seconds }, /: expired/],
			[{ nbf: seconds + 31 }, /nbf/],
			[{ nbf: "soon" }, /nbf/],
			[{ sub: undefined }, /missing or invalid sub/],
			[{ sub: "" }, /missing or invalid sub/],
			[{ sub: "a\u001b[2J" }, /missing or invalid sub/],
			[{ sub: "a".repeat(129) }, /missing or invalid sub/],
		];
		for (const [claims, why] of refused) expect(() => bearers.verify(hmac.sign(claims))).toThrow(why);
		expect(() => bearers.verify(hmac.sign({}, { crit: ["exp"] }))).toThrow(/critical/);
		expect(bearers.verify(hmac.sign({ aud: ["other", AUDIENCE], nbf: seconds + 30, exp: seconds + 1 }))).toBeDefined();
	});

	it("a JWT above the length limit is not parsed", () => {
		const { bearers } = believing(hmac);
		const long = hmac.sign({ pad: "x".repeat(MAX_JWT_BYTES) });
		expect(bearers.verify(long)).toBeUndefined();
	});

	it("a JWT grants no right by a claim of another form", () => {
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

	it("a JWT ends its connections when it expires", () => {
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

	it("a JWT is the same caller each time, and all of one subject share their limits", () => {
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

	it("many JWTs of one subject do not lock out another subject", () => {
		const { bearers } = believing(hmac);
		const verify = (claims: object) => bearers.verify(hmac.sign({ ...red, ...claims })) ?? expect.fail();
		const used = verify({ jti: "used" });
		used.revoked.addEventListener("abort", () => {});
		const bob = verify({ sub: "bob" });
		for (let index = 0; index < 10_100; index++) verify({ jti: String(index) });
		expect(verify({ sub: "carol" }).may("read", { workspace: "red" })).toBe(true);
		// Entries are removed if they are unused and can be created again.
		expect([used, bob].map(({ revoked }) => revoked.aborted)).toEqual([false, false]);
		expect(verify({ jti: "0" }).may("read", { workspace: "red" })).toBe(true);
		bearers.close();
	}, 20_000);
});

describe("the key of JWTs", () => {
	it("the key is a public key or a secret, and never an ambiguous file", () => {
		const { privateKey, publicKey } = generateKeyPairSync("ed25519");
		const refused: [string, RegExp][] = [
			["", /neither/],
			["short", /minimum 32/],
			[privateKey.export({ type: "pkcs8", format: "pem" }).toString(), /private key/],
			["-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n", /no valid public key/],
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
	it("JWTs are accepted like tokens, and create no tokens", async () => {
		const { bearers } = believing(hmac);
		const { access } = await openAccess({ verify: (shown) => bearers.verify(shown) });
		const principal = grantorOf(access.authorize(bearer(hmac.sign(red))));
		expect(principal.name).toBe("jwt:alice");
		expect(() => access.authorize(bearer(rsa.sign(red)))).toThrow(/the JWT is not valid/);
		expect(() => access.authorize(bearer("nonsense"))).toThrow(/the token is not valid/);
		await expect(access.createToken(principal, { scopes: ["workspace:red:read"] })).rejects.toThrow(
			/a JWT can't create tokens/,
		);
		expect(access.listTokens(principal)).toEqual([]);
	});
});
