/** What somebody has chosen for this browser, kept in it. */

import { type ReadonlySignal, signal } from "@preact/signals-core";

export const themes = ["system", "light", "dark", "dusk", "paper", "contrast"] as const;
export type Theme = (typeof themes)[number];

export type Settings = {
	readonly theme: Theme;
	/** Of terminals, in CSS pixels. */
	readonly fontSize: number;
	/** Whether this browser says when a session waits or ends. */
	readonly notifies: boolean;
	/** Whether it says the question as well, which others may see on a locked screen. */
	readonly notifiesQuestion: boolean;
	/** Whether letters alone are shortcuts outside of fields (WCAG 2.1.4). */
	readonly hasLetterKeys: boolean;
	/** Whether terminals are made readable for screen readers, which costs speed. */
	readonly readsAloud: boolean;
	/** Sessions that may put text on the clipboard (OSC 52). */
	readonly clipboardSessions: readonly string[];
	/** Ended or quiet sessions that somebody has seen, by id and moment; see `attention.ts`. */
	readonly dismissed: readonly string[];
};

export const fontSizes = { least: 8, usual: 13, most: 28 } as const;

export const usualSettings: Settings = {
	theme: "system",
	fontSize: fontSizes.usual,
	notifies: false,
	notifiesQuestion: false,
	hasLetterKeys: true,
	readsAloud: false,
	clipboardSessions: [],
	dismissed: [],
};

/** As much of a browser's storage as we use. */
export type Storage = { getItem(key: string): string | null; setItem(key: string, value: string): void };

const ITEM = "hawser-settings";
/** Of what grows with sessions, the newest are kept: so many, that a list of a thousand can be dismissed. */
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
			// A browser may keep nothing: then it holds until the page is closed.
		}
	}

	/** Another page of this browser has changed them. */
	reread(): void {
		this.#current.value = read(this.#storage);
	}
}

/** What is there is of this version, of another one, or of somebody who played with it: what does not fit is left out. */
function read(storage: Storage): Settings {
	let stored: Partial<Record<keyof Settings, unknown>> = {};
	try {
		stored = Object(JSON.parse(storage.getItem(ITEM) ?? "{}"));
	} catch {
		// As if nothing had been chosen.
	}
	const isLike = (value: unknown, usual: unknown) =>
		Array.isArray(usual)
			? Array.isArray(value) && value.every((one) => typeof one === "string")
			: typeof value === typeof usual;
	const fitting = Object.entries(usualSettings).map(([key, usual]) => {
		const value = stored[key as keyof Settings];
		return [key, isLike(value, usual) ? value : usual];
	});
	const settings = Object.fromEntries(fitting) as Settings;
	return themes.includes(settings.theme) ? settings : { ...settings, theme: usualSettings.theme };
}
