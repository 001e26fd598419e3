import { expect, it } from "vitest";
import { defaultSettings, fontSizes, SettingsStore } from "../../../web/state/settings.ts";

/** A browser's storage in memory, or one that stores nothing. */
function storage(initial?: string) {
	let text = initial ?? null;
	return {
		getItem: () => text,
		setItem: (_key: string, value: string) => {
			text = value;
		},
	};
}

it("settings are stored for the next page", () => {
	const kept = storage();
	new SettingsStore(kept).change({ theme: "paper", fontSize: 15 });
	expect(new SettingsStore(kept).current.value).toEqual({ ...defaultSettings, theme: "paper", fontSize: 15 });
});

it.each(["", "null", "[]", "{", '{"theme":"pink","fontSize":"13","dismissed":[1],"notifies":1}'])(
	"invalid stored settings fall back to the defaults: %j",
	(text) => {
		expect(new SettingsStore(storage(text)).current.value).toEqual(defaultSettings);
	},
);

it("an invalid font size is ignored, and only the newest dismissals are kept", () => {
	const settings = new SettingsStore(storage());
	settings.change({ fontSize: 1 });
	expect(settings.current.value.fontSize).toBe(fontSizes.least);
	settings.change({ fontSize: 99.4, dismissed: Array.from({ length: 1200 }, (_, index) => String(index)) });
	expect(settings.current.value.fontSize).toBe(fontSizes.most);
	expect(settings.current.value.dismissed).toHaveLength(1000);
	expect(settings.current.value.dismissed.at(-1)).toBe("1199");
});

it("settings work in a browser without storage", () => {
	const settings = new SettingsStore({
		getItem: () => null,
		setItem: () => {
			throw new Error("forbidden");
		},
	});
	settings.change({ theme: "dark" });
	expect(settings.current.value.theme).toBe("dark");
});
