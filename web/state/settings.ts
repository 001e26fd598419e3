/** Settings of this browser, stored in it. */

import { type ReadonlySignal, signal } from "@preact/signals-core";

export const themes = ["system", "light", "dark", "dusk", "paper", "contrast"] as const;
export type Theme = (typeof themes)[number];

export type Settings = {
	readonly theme: Theme;
	/** Font size of terminals, in CSS pixels. */
	readonly fontSize: number;
	/** Whether to show browser notifications. */
	readonly notifies: boolean;
	/** Whether notifications include the question, which other people may read on a locked screen. */
	readonly notifiesQuestion: boolean;
	/** Whether single letters are shortcuts outside of text fields (WCAG 2.1.4). */
	readonly hasLetterKeys: boolean;
	/** Whether terminals support screen readers, which makes them slower. */
	readonly screenReaderMode: boolean;
	/** Sessions that may write to the clipboard (OSC 52). */
	readonly clipboardSessions: readonly string[];
	/** Dismissed needs, as keys of `dismissalKey`. */
	readonly dismissed: readonly string[];
};

export const fontSizes = { least: 8, usual: 13, most: 28 } as const;

export const defaultSettings: Settings = {
	theme: "system",
	fontSize: fontSizes.usual,
	notifies: false,
	notifiesQuestion: false,
	hasLetterKeys: true,
	screenReaderMode: false,
	clipboardSessions: [],
	dismissed: [],
};

/** The parts of browser storage used here. */
export type Storage = { getItem(key: string): string | null; setItem(key: string, value: string): void };

const ITEM = "hawser-settings";
/** The newest entries kept in lists that grow with the number of sessions. */
const MOST_REMEMBERED = 1000;

export class SettingsStore {
	readonly #storage: Storage;
	readonly #current;

	constructor(storage: Storage) {
		this.#storage = storage;
		this.#current = signal<Settings>(read(storage));
	}

	get current(): ReadonlySignal<Settings> {
		return this.#current;
	}

	change(changes: Partial<Settings>): void {
		const { fontSize, clipboardSessions, dismissed, ...rest } = { ...this.#current.peek(), ...changes };
		this.#current.value = {
			...rest,
			fontSize: Math.min(fontSizes.most, Math.max(fontSizes.least, Math.round(fontSize))),
			clipboardSessions: clipboardSessions.slice(-MOST_REMEMBERED),
			dismissed: dismissed.slice(-MOST_REMEMBERED),
		};
		try {
			this.#storage.setItem(ITEM, JSON.stringify(this.#current.peek()));
		} catch {
			// Without storage, settings last until the page is closed.
		}
	}

	/** Another page of this browser changed the settings. */
	reread(): void {
		this.#current.value = read(this.#storage);
	}
}

/** Ignores invalid values: the storage may be from another version, or edited. */
function read(storage: Storage): Settings {
	let stored: Partial<Record<keyof Settings, unknown>> = {};
	try {
		stored = Object(JSON.parse(storage.getItem(ITEM) ?? "{}"));
	} catch {
		// Invalid; use the defaults.
	}
	const isLike = (value: unknown, usual: unknown) =>
		Array.isArray(usual)
			? Array.isArray(value) && value.every((one) => typeof one === "string")
			: typeof value === typeof usual;
	const fitting = Object.entries(defaultSettings).map(([key, usual]) => {
		const value = stored[key as keyof Settings];
		return [key, isLike(value, usual) ? value : usual];
	});
	const settings = Object.fromEntries(fitting) as Settings;
	return themes.includes(settings.theme) ? settings : { ...settings, theme: defaultSettings.theme };
}
