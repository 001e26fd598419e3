import { describe, expect, it } from "vitest";
import { ReaderLimit } from "../../../src/http/limits/readers.ts";
import { principalWith } from "../../support/native-server.ts";

const viewer = (account: string) => principalWith(["read"], { account });
const controller = (account: string) => principalWith(["read", "operate"], { account });
const operator = principalWith(["read", "operate", "manage"], { account: "admin", isAdmin: true });
const place = (session: string) => ({ workspace: "default", session });

/** Adds readers until one is refused. */
function takeAll(readers: ReaderLimit, who: ReturnType<typeof viewer>, session = "s"): (() => void)[] {
	const taken: (() => void)[] = [];
	try {
		for (;;) taken.push(readers.take(who, place(session)));
	} catch (error) {
		expect(error).toMatchObject({ code: "limit_exceeded" });
	}
	return taken;
}

describe("the readers of a session", () => {
	it("a session has a limited number of readers, and a released slot can be taken again", () => {
		const readers = new ReaderLimit(100);
		const [leave] = takeAll(readers, controller("c"));
		expect(takeAll(readers, controller("c"))).toHaveLength(0);
		leave?.();
		leave?.();
		expect(takeAll(readers, controller("c"))).toHaveLength(1);
	});

	it("each viewer has a small limit, and all viewers together do not use the whole limit", () => {
		const readers = new ReaderLimit(100);
		expect(takeAll(readers, viewer("1"))).toHaveLength(25);
		expect(takeAll(readers, viewer("2"))).toHaveLength(25);
		expect(takeAll(readers, viewer("3"))).toHaveLength(25);
		expect(takeAll(readers, viewer("4"))).toHaveLength(0);
		expect(takeAll(readers, controller("c"))).toHaveLength(25);
	});

	it("each caller that may operate the session gets one reader, even above the limit", () => {
		const readers = new ReaderLimit(4);
		for (let id = 0; id < 10; id++) takeAll(readers, viewer(String(id)));
		takeAll(readers, controller("first"));
		expect(takeAll(readers, controller("second"))).toHaveLength(1);
		expect(takeAll(readers, operator)).toHaveLength(1);
	});

	it("a caller's readers over all sessions are limited, except for the operator", () => {
		const readers = new ReaderLimit(10);
		const taken = Array.from({ length: 300 }, (_, index) => takeAll(readers, controller("c"), String(index)).length);
		expect(taken.reduce((sum, count) => sum + count)).toBe(256);
		for (let index = 0; index < 300; index++) readers.take(operator, place(String(index)));
	});
});
