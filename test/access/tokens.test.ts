import { readFile, stat, writeFile } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import { type Grantor, grantorOf } from "../../src/core/policy/access.ts";
import { writeAtomically } from "../../src/disk/write-atomically.ts";
import { ADMIN_TOKEN, bearer, nothing, openAccess, predictable, reopen, shownBy } from "./open-access.ts";

const DAY = 86_400_000;
const red = { workspace: "red", session: "s1" };

describe("a token", () => {
	it("a token is shown once, and stored as a digest that only its owner can read", async () => {
		const { access, file } = await openAccess();
		const { secret, token } = await access.createToken(access.admin, { name: "ci", scopes: ["workspace:red:operate"] });
		expect(secret).toMatch(/^hwt_[0-9a-f]{12}_[A-Za-z0-9_-]{43}$/);
		expect(token).toEqual({
			id: secret.slice(4, 16),
			name: "ci",
			scopes: ["workspace:red:operate"],
			createdAt: 1_000_000,
			expiresAt: null,
			lastUsedAt: null,
			parent: null,
			opened: 0,
			secrets: "type",
			gate: null,
		});
		const text = await readFile(file, "utf8");
		expect(text).not.toContain(secret.slice(17));
		expect(text).not.toContain(ADMIN_TOKEN);
		expect((await stat(file)).mode & 0o777).toBe(0o600);
	});

	it("a token has the rights of its scopes, also after a restart", async () => {
		const { access, options } = await openAccess();
		const { secret } = await access.createToken(access.admin, { name: "ci", scopes: ["workspace:red:operate"] });
		await access.close();
		for (const one of [access, await reopen(options)]) {
			const principal = one.authorize(bearer(secret));
			expect(principal).toMatchObject({
				id: secret.slice(4, 16),
				name: `token:${secret.slice(4, 16)}:ci`,
				isAdmin: false,
			});
			expect([principal.may("operate", red), principal.may("manage", red)]).toEqual([true, false]);
		}
	});

	it("the operator's token has all rights and no expiry", async () => {
		const { access } = await openAccess();
		const admin = grantorOf(access.authorize(bearer(ADMIN_TOKEN)));
		expect(admin).toMatchObject({ id: "admin", isAdmin: true });
		await expect(access.revokeToken(admin, "admin")).rejects.toMatchObject({ code: "permission_denied" });
	});

	it("an invalid token is refused without being repeated", async () => {
		const { access } = await openAccess();
		const { secret } = await access.createToken(access.admin, { scopes: ["admin"] });
		const wrong = [
			"",
			"x",
			`${ADMIN_TOKEN} `,
			ADMIN_TOKEN.toUpperCase(),
			secret.slice(0, -1),
			`${secret}A`,
			secret.slice(0, 17) + "A".repeat(43),
			`hwt_000000000000_${secret.slice(17)}`,
			secret.replace("hwt_", "HWT_"),
		];
		for (const credential of wrong) {
			let thrown: unknown;
			try {
				access.authorize(bearer(credential));
			} catch (error) {
				thrown = error;
			}
			expect(thrown).toMatchObject({ code: "unauthenticated", message: "the token is not valid" });
		}
		expect(() => access.authorize(nothing)).toThrow("a token is required");
	});

	it("an empty admin token admits no caller", async () => {
		const { access } = await openAccess({ adminToken: "" });
		expect(() => access.authorize(bearer(""))).toThrow("not valid");
	});

	it("a token expires with its connections, also one that was created after others", async () => {
		const { access, clock } = await openAccess();
		const { secret, token } = await access.createToken(access.admin, { scopes: ["admin"], expiresInMs: 90_000 });
		expect(token.expiresAt).toBe(1_090_000);
		const principal = access.authorize(bearer(secret));
		clock.advance(89_999);
		expect(principal.may("manage", red)).toBe(true);
		clock.advance(1);
		expect(principal.may("read", red)).toBe(false);
		expect(() => access.authorize(bearer(secret))).toThrow("not valid");
		expect(principal.revoked.aborted).toBe(true);
		expect(access.listTokens(access.admin)).toEqual([]);
		await access.createToken(access.admin, { scopes: ["admin"], expiresInMs: DAY });
		const brief = await access.createToken(access.admin, { scopes: ["admin"], expiresInMs: 10 });
		const caller = access.authorize(bearer(brief.secret));
		clock.advance(10);
		expect(caller.revoked.aborted).toBe(true);
	});

	it("a token is revoked at once, with its children and their connections", async () => {
		const { access, options } = await openAccess();
		const parent = await access.createToken(access.admin, { scopes: ["workspace:red:manage"] });
		const principal = grantorOf(access.authorize(bearer(parent.secret)));
		const child = await access.createToken(principal, { scopes: ["session:s1:view"] });
		const other = await access.createToken(access.admin, { scopes: ["admin"] });
		const callers = [parent, child, other].map(({ secret }) => access.authorize(bearer(secret)));
		await access.revokeToken(access.admin, parent.token.id);
		expect(callers.map(({ revoked }) => revoked.aborted)).toEqual([true, true, false]);
		expect(callers.map((caller) => caller.may("read", red))).toEqual([false, false, true]);
		expect((await reopen(options)).listTokens(access.admin).map(({ id }) => id)).toEqual([other.token.id]);
	});

	it("a token's last use is known after a crash, up to the last minute", async () => {
		const { access, clock, options } = await openAccess();
		const { secret } = await access.createToken(access.admin, { scopes: ["admin"] });
		const lastUse = async () => (await reopen(options)).listTokens(access.admin)[0]?.lastUsedAt;
		clock.advance(5);
		access.authorize(bearer(secret));
		await expect.poll(lastUse).toBe(1_000_005);
		clock.advance(5);
		access.authorize(bearer(secret));
		expect(await lastUse()).toBe(1_000_005);
		clock.advance(60_000);
		await expect.poll(lastUse).toBe(1_000_010);
	});

	it("a token stores its last use now and then, not at every request", async () => {
		let writes = 0;
		const { access, clock } = await openAccess({
			write: async () => {
				writes++;
			},
		});
		const { secret } = await access.createToken(access.admin, { scopes: ["admin"] });
		clock.advance(5);
		for (let index = 0; index < 100; index++) access.authorize(bearer(secret));
		expect(access.listTokens(access.admin)[0]?.lastUsedAt).toBe(1_000_005);
		// Its creation, and its first use.
		await expect.poll(() => writes).toBe(2);
		clock.advance(5);
		for (let index = 0; index < 100; index++) access.authorize(bearer(secret));
		expect(writes).toBe(2);
		await access.close();
		expect(writes).toBe(3);
		await access.close();
		expect(writes).toBe(3);
	});
});

describe("a token that creates tokens", () => {
	it("a revoked token creates nothing, whatever request is in progress", async () => {
		const { access } = await openAccess();
		const { secret, token } = await access.createToken(access.admin, { scopes: ["admin"] });
		const other = await access.createToken(access.admin, { scopes: ["workspace:red:read"] });
		const by = grantorOf(access.authorize(bearer(secret)));
		await access.revokeToken(access.admin, token.id);
		const ended = { code: "unauthenticated", message: "the credential of this request was revoked or has expired" };
		await expect(access.createToken(by, { scopes: ["admin"] })).rejects.toMatchObject(ended);
		await expect(access.revokeToken(by, other.token.id)).rejects.toMatchObject(ended);
		await expect(access.signInAs(by)).rejects.toMatchObject(ended);
		expect(() => access.createSignInCode(by)).toThrow(ended.message);
		expect(() => access.createTicket(by, { session: "s1", right: "read", origin: undefined })).toThrow(ended.message);
		expect(access.listTokens(access.admin).map(({ id }) => id)).toEqual([other.token.id]);
	});

	it("a child token has no more rights than its parent", async () => {
		const { access } = await openAccess();
		const { secret } = await access.createToken(access.admin, { scopes: ["workspace:red:operate"] });
		const principal = grantorOf(access.authorize(bearer(secret)));
		await access.createToken(principal, { scopes: ["workspace:red:read", "session:s1:control"] });
		for (const scope of ["admin", "workspace:red:manage", "workspace:blue:read", "session:s2:view"]) {
			await expect(access.createToken(principal, { scopes: ["workspace:red:read", scope] })).rejects.toMatchObject({
				code: "permission_denied",
				message: expect.stringContaining(scope),
			});
		}
	});

	it("a child token has no more secret rights than its parent, also after a restart; in an older file it has all", async () => {
		const { access, options, file } = await openAccess();
		const scopes = ["workspace:red:operate"];
		const maker = await access.createToken(access.admin, { scopes, secrets: "request" });
		const by = grantorOf(access.authorize(bearer(maker.secret)));
		await expect(access.createToken(by, { scopes, secrets: "type" })).rejects.toMatchObject({
			code: "permission_denied",
		});
		const made = await access.createToken(by, { scopes });
		const none = await access.createToken(by, { scopes, secrets: "none" });
		const again = await reopen(options);
		const rights = [maker, made, none].map(({ secret }) => again.authorize(bearer(secret)).secrets);
		expect(rights).toEqual(["request", "request", "none"]);
		expect(again.authorize(bearer(made.secret)).makers).toEqual([maker.token.id]);
		// The first use is being written, and would overwrite the test's edit.
		await again.close();
		await writeFile(file, (await readFile(file, "utf8")).replaceAll(/,\s*"secrets": "[a-z]+"/g, ""));
		expect((await reopen(options)).authorize(bearer(none.secret)).secrets).toBe("type");
	});

	it("a child token lives no longer than its parent", async () => {
		const { access } = await openAccess();
		const { secret } = await access.createToken(access.admin, { scopes: ["workspace:red:read"], expiresInMs: DAY });
		const principal = grantorOf(access.authorize(bearer(secret)));
		for (const expiresInMs of [undefined, 2 * DAY]) {
			const { token } = await access.createToken(principal, { scopes: ["workspace:red:read"], expiresInMs });
			expect(token.expiresAt).toBe(1_000_000 + DAY);
		}
		const { token } = await access.createToken(principal, { scopes: ["workspace:red:read"], expiresInMs: 10 });
		expect(token.expiresAt).toBe(1_000_010);
	});

	it("a token sees and revokes only itself and its children", async () => {
		const { access } = await openAccess();
		const make = async (by: Grantor = access.admin) => {
			const { secret, token } = await access.createToken(by, { scopes: ["workspace:red:read"] });
			return { id: token.id, principal: grantorOf(access.authorize(bearer(secret))) };
		};
		const [one, other] = [await make(), await make()];
		const child = await make(one.principal);
		const grandchild = await make(child.principal);
		expect(access.listTokens(one.principal).map(({ id }) => id)).toEqual([one.id, child.id, grandchild.id]);
		expect(access.listTokens(child.principal).map(({ id }) => id)).toEqual([child.id, grandchild.id]);
		for (const id of [other.id, one.id, "admin", "nonsense"]) {
			await expect(access.revokeToken(child.principal, id)).rejects.toMatchObject({ code: "not_found" });
		}
		await access.revokeToken(child.principal, child.id);
		expect(access.listTokens(access.admin).map(({ id }) => id)).toEqual([one.id, other.id]);
	});

	it("a child token shares its parent's limits, also after a restart", async () => {
		const { access, options } = await openAccess({ creationRate: { perSecond: 1, burst: 3 } });
		const make = async (by: Grantor = access.admin) => {
			const { secret } = await access.createToken(by, { scopes: ["workspace:red:read"] });
			return { secret, principal: grantorOf(access.authorize(bearer(secret))) };
		};
		const [root, other] = [await make(), await make()];
		const child = await make(root.principal);
		const grandchild = await make(child.principal);
		expect([child, grandchild].map(({ principal }) => principal.account)).toEqual(
			Array(2).fill(root.principal.account),
		);
		expect(other.principal.account).not.toBe(root.principal.account);
		const again = await reopen(options);
		for (const now of [access, again]) {
			const count = ({ secret }: { secret: string }) => now.authorize(bearer(secret)).countCreation();
			expect([root, child, grandchild].map(count)).toEqual([0, 0, 0]);
			for (const one of [root, child, grandchild]) expect(count(one)).toBeGreaterThan(0);
			expect(count(other)).toBe(0);
		}
	});

	it("a token has at most a hundred descendants over all generations", async () => {
		const { access } = await openAccess({ write: async () => {} });
		const make = async (by: Grantor = access.admin) => {
			const { secret } = await access.createToken(by, { scopes: ["workspace:red:read"] });
			return grantorOf(access.authorize(bearer(secret)));
		};
		const root = await make();
		let last = root;
		for (let index = 0; index < 100; index++) last = await make(index % 2 === 0 ? root : last);
		for (const by of [root, last]) await expect(make(by)).rejects.toMatchObject({ code: "limit_exceeded" });
		await make();
	});
});

describe("the file of tokens", () => {
	it("a file that can't be written prevents new tokens, but not revocations, which are written later", async () => {
		let isFull = false;
		const { access, options, clock, problems } = await openAccess({
			write: async (path, text) => {
				if (isFull) throw new Error("no space");
				await writeAtomically(path, text);
			},
		});
		const make = () => access.createToken(access.admin, { scopes: ["workspace:red:manage"] });
		const [one, other] = [await make(), await make()];
		const caller = grantorOf(access.authorize(bearer(other.secret)));
		const stored = async () => (await reopen(options)).listTokens(access.admin);
		await expect.poll(stored).toEqual(access.listTokens(access.admin));
		isFull = true;
		await expect(make()).rejects.toThrow("no space");
		expect(access.listTokens(access.admin)).toHaveLength(2);
		expect(await access.revokeToken(access.admin, one.token.id)).toEqual({ isDurable: false });
		expect(problems).toHaveLength(1);
		expect(() => access.authorize(bearer(one.secret))).toThrow("not valid");
		// A second revocation does not report an unknown token but one not yet removed from the disk, to callers that
		// may know of it.
		expect(await access.revokeToken(access.admin, one.token.id)).toEqual({ isDurable: false });
		await expect(access.revokeToken(caller, one.token.id)).rejects.toMatchObject({ code: "not_found" });
		isFull = false;
		expect(await access.revokeToken(access.admin, one.token.id)).toEqual({ isDurable: true });
		await expect(access.revokeToken(access.admin, one.token.id)).rejects.toMatchObject({ code: "not_found" });
		isFull = true;
		expect(await access.revokeToken(access.admin, other.token.id)).toEqual({ isDurable: false });
		isFull = false;
		clock.advance(1_000);
		await expect.poll(stored).toEqual([]);
		expect(clock.pending).toBeGreaterThan(0);
		await access.close();
	});

	it("closing waits for a write of the file in progress, and retries it if it fails", async () => {
		let writes = 0;
		let fail = () => {};
		const { access, options } = await openAccess({
			write: (path, text) => {
				if (++writes !== 2) return writeAtomically(path, text);
				return new Promise((_, reject) => {
					fail = () => reject(new Error("no space"));
				});
			},
		});
		const { secret } = await access.createToken(access.admin, { scopes: ["admin"] });
		access.authorize(bearer(secret));
		await expect.poll(() => writes).toBe(2);
		const closed = access.close();
		fail();
		await closed;
		expect((await reopen(options)).listTokens(access.admin)[0]?.lastUsedAt).toBe(1_000_000);
	});

	it("closing writes the file once more", async () => {
		let isFull = false;
		const { access, options } = await openAccess({
			write: async (path, text) => {
				if (isFull) throw new Error("no space");
				await writeAtomically(path, text);
			},
		});
		const { token } = await access.createToken(access.admin, { scopes: ["admin"] });
		const shown = shownBy(await access.signIn(access.createSignInCode(access.admin).code));
		isFull = true;
		expect(await access.revokeToken(access.admin, token.id)).toEqual({ isDurable: false });
		for (const _ of ["once", "again"]) {
			expect(await access.signOut(shown.cookies)).toMatchObject({ isDurable: false });
		}
		isFull = false;
		await access.close();
		const reopened = await reopen(options);
		expect(reopened.listTokens(access.admin)).toEqual([]);
		expect(() => reopened.authorize({ ...nothing, ...shown })).toThrow("no longer signed in");
	});

	it.each([
		["not JSON", "{", "invalid_argument"],
		["something else", "[]", "invalid_argument"],
		["null", "null", "invalid_argument"],
		["a token without a digest", tokenFile({ hash: "" }), "invalid_argument"],
		["a token with an unknown scope", tokenFile({ scopes: ["root"] }), "invalid_argument"],
		["that of a newer server", '{"version":4}', "unsupported"],
		["that of an older server", '{"version":2}', "unsupported"],
	])("a file that is %s is refused and not replaced", async (_, text, code) => {
		const { options, file } = await openAccess();
		await writeFile(file, text);
		await expect(reopen(options)).rejects.toMatchObject({ code, message: expect.stringContaining(file) });
	});

	it("an edited file grants nothing to a token whose parent is missing, nor to its children", async () => {
		const { options, file, access } = await openAccess();
		const { tokens, ...rest } = JSON.parse(tokenFile({ parent: "ffffffffffff" })) as { tokens: [{ id: string }] };
		const [orphan] = tokens;
		const child = { ...orphan, id: "ba9876543210", parent: orphan.id };
		const other = { ...orphan, id: "0123456789cd", parent: null };
		await writeFile(file, JSON.stringify({ ...rest, tokens: [child, orphan, other] }));
		expect((await reopen(options)).listTokens(access.admin).map(({ id }) => id)).toEqual([other.id]);
	});

	it("concurrent writers of the file lose nothing", async () => {
		const { access, options } = await openAccess();
		const made = await Promise.all(
			Array.from({ length: 20 }, () => access.createToken(access.admin, { scopes: ["admin"] })),
		);
		const reopened = await reopen({ ...options, randomBytes: predictable(1000) });
		for (const { secret } of made) expect(reopened.authorize(bearer(secret)).isAdmin).toBe(true);
	});
});

function tokenFile(changes: object): string {
	const token = { id: "0123456789ab", name: null, scopes: ["admin"], hash: "0".repeat(64), createdAt: 1 };
	const tokens = [{ ...token, expiresAt: null, lastUsedAt: null, parent: null, ...changes }];
	return JSON.stringify({ version: 3, admin: "", tokens, browsers: [] });
}
