import { readFile, writeFile } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import type { Caller } from "../../src/core/access.ts";
import { bearer, nothing, openAccess, reopen, shownBy } from "./open-access.ts";

const DAY = 86_400_000;
const red = { workspace: "red", session: "s1" };

describe("a sign-in link", () => {
	it("becomes a cookie once", async () => {
		const { access, file } = await openAccess();
		const { code, expiresAt } = access.createSignInCode(access.admin);
		expect(expiresAt).toBe(1_000_000 + 300_000);
		const signedIn = await access.signIn(code);
		expect(signedIn?.cookie).toMatch(
			/^hawser_session_[0-9a-f]{8}=[A-Za-z0-9_-]{43}; Max-Age=2592000; Path=\/; HttpOnly; SameSite=Strict$/,
		);
		expect(await access.signIn(code)).toBeUndefined();
		const shown = shownBy(signedIn);
		expect(access.authorize({ ...nothing, ...shown })).toMatchObject({ id: "admin" });
		const stored = await readFile(file, "utf8");
		for (const secret of [shown.cookies.split("=")[1], shown.pageKey]) {
			expect(secret).toMatch(/^[A-Za-z0-9_-]{43}$/);
			expect(stored).not.toContain(secret);
		}
	});

	it("is over after five minutes, and with the token that made it", async () => {
		const { access, clock } = await openAccess();
		const late = access.createSignInCode(access.admin);
		clock.advance(300_000);
		expect(await access.signIn(late.code)).toBeUndefined();
		const { secret, token } = await access.createToken(access.admin, { scopes: ["workspace:red:read"] });
		const orphan = access.createSignInCode(access.authorize(bearer(secret)));
		await access.revokeToken(access.admin, token.id);
		expect(await access.signIn(orphan.code)).toBeUndefined();
		for (const code of ["", "x", "a".repeat(43)]) expect(await access.signIn(code)).toBeUndefined();
	});

	it("over TLS makes a cookie that only our host over TLS can have set", async () => {
		const { access } = await openAccess({ isSecure: true });
		const shown = await access.signIn(access.createSignInCode(access.admin).code);
		expect(shown?.cookie).toMatch(
			/^__Host-hawser_session_[0-9a-f]{8}=\S+; Max-Age=2592000; Path=\/; HttpOnly; SameSite=Strict; Secure$/,
		);
		const plain = shownBy(shown).cookies.replace("__Host-", "");
		expect(() => access.authorize({ ...nothing, ...shownBy(shown), cookies: plain })).toThrow("a token is required");
	});
});

describe("a cookie", () => {
	const signedIn = async (scopes = ["workspace:red:operate"]) => {
		const opened = await openAccess();
		const { access } = opened;
		const { secret, token } = await access.createToken(access.admin, { scopes });
		const shown = shownBy(await access.signIn(access.createSignInCode(access.authorize(bearer(secret))).code));
		return { ...opened, token, shown };
	};

	it("is worth what its token is, also after a restart", async () => {
		const { access, options, shown, token } = await signedIn();
		await access.close();
		for (const one of [access, await reopen(options)]) {
			const principal = one.authorize({ ...nothing, ...shown });
			expect(principal).toMatchObject({ id: token.id, isAdmin: false });
			expect([principal.may("operate", red), principal.may("manage", red)]).toEqual([true, false]);
		}
	});

	it("counts as a use of its token", async () => {
		const { access, clock, shown } = await signedIn();
		clock.advance(1_000);
		access.authorize({ ...nothing, ...shown });
		expect(access.listTokens(access.admin)[0]?.lastUsedAt).toBe(1_001_000);
	});

	it("is enough to read with its page key, but needs an origin for everything else", async () => {
		const { access, shown } = await signedIn();
		access.authorize({ ...nothing, ...shown });
		expect(() => access.authorize({ ...nothing, ...shown, isSafe: false })).toThrow("without an Origin");
		access.authorize({ ...nothing, ...shown, isSafe: false, origin: "http://localhost:7707" });
	});

	it("is nothing without the page key of the same browser, nor that without the cookie", async () => {
		const { access, shown } = await signedIn();
		const other = shownBy(await access.signIn(access.createSignInCode(access.admin).code));
		const show = (caller: Partial<Caller>) => () =>
			access.authorize({ ...nothing, origin: "http://localhost:7707", ...caller });
		expect(show({ cookies: shown.cookies })).toThrow("page key");
		expect(show({ cookies: shown.cookies, pageKey: "" })).toThrow("not signed in");
		expect(show({ cookies: shown.cookies, pageKey: other.pageKey })).toThrow("not signed in");
		expect(show({ pageKey: shown.pageKey })).toThrow("a token is required");
		show({ ...shown })();
	});

	it("of before there were page keys is signed out", async () => {
		const { access, options, file, shown } = await signedIn();
		await access.close();
		const text = await readFile(file, "utf8");
		await writeFile(file, text.replace(/\s*"key": "[0-9a-f]{64}",/, ""));
		const reopened = await reopen(options);
		expect(() => reopened.authorize({ ...nothing, ...shown })).toThrow("not signed in any more");
		expect(reopened.listTokens(reopened.admin)).toHaveLength(1);
	});

	it("does not stand in for a wrong token or ticket", async () => {
		const { access, shown } = await signedIn();
		expect(() => access.authorize({ ...nothing, ...shown, credential: "wrong" })).toThrow("token is not valid");
		expect(() => access.authorize({ ...nothing, ...shown, ticket: "wrong" })).toThrow("ticket is not valid");
	});

	it("that is there twice is not believed", async () => {
		const { access, shown } = await signedIn();
		const [name] = shown.cookies.split("=");
		const twice = `${name}=planted; ${shown.cookies}`;
		expect(() => access.authorize({ ...nothing, ...shown, cookies: twice })).toThrow("a token is required");
		access.authorize({ ...nothing, ...shown, cookies: `a=b; ${shown.cookies}; x${name}=planted` });
	});

	it("ends after thirty days, when signed out, and with its token; and what it has open with it", async () => {
		const ways: ((opened: Awaited<ReturnType<typeof signedIn>>) => unknown)[] = [
			({ clock }) => clock.advance(30 * DAY + 60_000),
			({ access, shown }) => access.signOut(shown.cookies),
			({ access, token }) => access.revokeToken(access.admin, token.id),
		];
		for (const end of ways) {
			const opened = await signedIn();
			const { access, shown, options } = opened;
			const principal = access.authorize({ ...nothing, ...shown });
			await end(opened);
			expect(principal.revoked.aborted).toBe(true);
			expect(() => access.authorize({ ...nothing, ...shown })).toThrow("not signed in any more");
			await access.close();
			const reopened = await reopen(options);
			expect(() => reopened.authorize({ ...nothing, ...shown })).toThrow("not signed in any more");
		}
	});

	it("is over with its token at once, and so are tickets and links", async () => {
		const { access, clock } = await openAccess();
		const { secret } = await access.createToken(access.admin, { scopes: ["admin"], expiresInMs: 90_000 });
		const owner = access.authorize(bearer(secret));
		const shown = shownBy(await access.signIn(access.createSignInCode(owner).code));
		clock.advance(89_999);
		access.authorize({ ...nothing, ...shown });
		const { ticket } = access.createTicket(owner, { session: "s1", right: "read", origin: undefined });
		const { code } = access.createSignInCode(owner);
		clock.advance(1);
		expect(() => access.authorize({ ...nothing, ...shown })).toThrow("not signed in any more");
		expect(() => access.authorize({ ...nothing, ticket })).toThrow("not valid any more");
		expect(await access.signIn(code)).toBeUndefined();
	});

	it("signed out leaves the token and its other browsers alone", async () => {
		const { access, shown } = await signedIn();
		const owner = access.authorize({ ...nothing, ...shown });
		const other = shownBy(await access.signIn(access.createSignInCode(owner).code));
		expect(await access.signOut(shown.cookies)).toEqual({
			cookie: expect.stringMatching(/^hawser_session_[0-9a-f]{8}=; Max-Age=0; /),
			isDurable: true,
			owner: expect.objectContaining({ id: owner.id }),
		});
		expect(access.authorize({ ...nothing, ...other }).revoked.aborted).toBe(false);
	});

	it("of the operator ends when the admin token is changed", async () => {
		const { access, options } = await openAccess();
		const shown = shownBy(await access.signIn(access.createSignInCode(access.admin).code));
		const reopened = await reopen({ ...options, adminToken: "another" });
		expect(() => reopened.authorize({ ...nothing, ...shown })).toThrow("a token is required");
	});

	it("there are twenty of one token: the oldest goes for one more", async () => {
		const { access } = await openAccess({ write: async () => {} });
		const all: ReturnType<typeof shownBy>[] = [];
		for (let index = 0; index < 21; index++) {
			all.push(shownBy(await access.signIn(access.createSignInCode(access.admin).code)));
		}
		const isIn = (shown: (typeof all)[number] | undefined) => {
			try {
				return access.authorize({ ...nothing, ...shown }).isAdmin;
			} catch {
				return false;
			}
		};
		expect([isIn(all[0]), isIn(all[1]), isIn(all[20])]).toEqual([false, true, true]);
	});
});

describe("a ticket", () => {
	const upgrade = { ...nothing, isSafe: false };

	it("opens one session, up to one right, once", async () => {
		const { access } = await openAccess();
		const { ticket, expiresAt } = access.createTicket(access.admin, {
			session: "s1",
			right: "read",
			origin: undefined,
		});
		expect(expiresAt).toBe(1_030_000);
		const principal = access.authorize({ ...upgrade, ticket });
		expect(principal.isAdmin).toBe(false);
		expect([principal.may("read", red), principal.may("operate", red)]).toEqual([true, false]);
		expect(principal.may("read", { workspace: "blue", session: "s2" })).toBe(false);
		expect(principal.may("read", { workspace: "red" })).toBe(false);
		expect(() => access.authorize({ ...upgrade, ticket })).toThrow("the ticket is not valid any more");
	});

	it("is never worth more than who asked for it", async () => {
		const { access } = await openAccess();
		const { secret } = await access.createToken(access.admin, { scopes: ["session:s1:view"] });
		const viewer = access.authorize(bearer(secret));
		const { ticket } = access.createTicket(viewer, { session: "s1", right: "operate", origin: undefined });
		expect(access.authorize({ ...upgrade, ticket }).may("operate", red)).toBe(false);
		const foreign = access.createTicket(viewer, { session: "s2", right: "read", origin: undefined });
		const principal = access.authorize({ ...upgrade, ticket: foreign.ticket });
		expect(principal.may("read", { workspace: "blue", session: "s2" })).toBe(false);
	});

	it("is over after thirty seconds, and with its token", async () => {
		const { access, clock } = await openAccess();
		const request = { session: "s1", right: "read", origin: undefined } as const;
		const late = access.createTicket(access.admin, request);
		clock.advance(30_000);
		expect(() => access.authorize({ ...upgrade, ticket: late.ticket })).toThrow("not valid any more");
		const { secret, token } = await access.createToken(access.admin, { scopes: ["admin"] });
		const owner = access.authorize(bearer(secret));
		const [used, unused] = [access.createTicket(owner, request), access.createTicket(owner, request)];
		const open = access.authorize({ ...upgrade, ticket: used.ticket });
		await access.revokeToken(access.admin, token.id);
		expect(open.revoked.aborted).toBe(true);
		expect(() => access.authorize({ ...upgrade, ticket: unused.ticket })).toThrow("not valid any more");
	});

	it("asked for by a page is good for pages of the same origin only, and is used up by others", async () => {
		const { access } = await openAccess();
		const make = () =>
			access.createTicket(access.admin, { session: "s1", right: "read", origin: "http://a.example" }).ticket;
		access.authorize({ ...upgrade, ticket: make(), origin: "http://a.example" });
		for (const origin of ["http://b.example", undefined]) {
			const ticket = make();
			expect(() => access.authorize({ ...upgrade, ticket, origin })).toThrow("not valid any more");
			expect(() => access.authorize({ ...upgrade, ticket, origin: "http://a.example" })).toThrow();
		}
	});

	it("there are a hundred of one owner: the oldest goes for one more", async () => {
		const { access } = await openAccess();
		const make = () => access.createTicket(access.admin, { session: "s1", right: "read", origin: undefined }).ticket;
		const all = Array.from({ length: 101 }, make);
		expect(() => access.authorize({ ...upgrade, ticket: all[0] })).toThrow("not valid any more");
		access.authorize({ ...upgrade, ticket: all[1] });
		access.authorize({ ...upgrade, ticket: all[100] });
	});
});
