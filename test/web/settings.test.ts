import { expect, it } from "vitest";
import { fontSizes, SettingsStore, usualSettings } from "../../web/state/settings.ts";

/** A browser's storage, in memory; or one that keeps nothing. */
function storage(initial?: string) {
	let text = initial ?? null;
	return {
		getItem: () => text,
		setItem: (_key: string, value: string) => {
			text = value;
		},
	};
}

it("what is chosen is there for the next page", () => {
	const kept = storage();
	new SettingsStore(kept).change({ theme: "paper", fontSize: 15 });
	expect(new SettingsStore(kept).current.value).toEqual({ ...usualSettings, theme: "paper", fontSize: 15 });
});

it.each(["", "null", "[]", "{", '{"theme":"pink","fontSize":"13","dismissed":[1],"notifies":1}'])(
	"what was stored and makes no sense is as if nothing had been chosen: %j",
	(text) => {
		expect(new SettingsStore(storage(text)).current.value).toEqual(usualSettings);
	},
);

it("a size that can't be read is not taken, and of what was seen only the newest is remembered", () => {
	const settings = new SettingsStore(storage());
	settings.change({ fontSize: 1 });
	expect(settings.current.value.fontSize).toBe(fontSizes.least);
	settings.change({ fontSize: 99.4, dismissed: Array.from({ length: 1200 }, (_, index) => String(index)) });
	expect(settings.current.value.fontSize).toBe(fontSizes.most);
	expect(settings.current.value.dismissed).toHaveLength(1000);
	expect(settings.current.value.dismissed.at(-1)).toBe("1199");
});

it("a browser that keeps nothing still has settings", () => {
	const settings = new SettingsStore({
		getItem: () => null,
		setItem: () => {
			throw new Error("forbidden");
		},
	});
	settings.change({ theme: "dark" });
	expect(settings.current.value.theme).toBe("dark");
});
