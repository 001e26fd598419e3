/** Applies the theme, or follows the system's. */

import { effect } from "@preact/signals-core";
import type { SettingsStore } from "./state/settings.ts";

export function applyTheme(settings: SettingsStore): void {
	const light = matchMedia("(prefers-color-scheme: light)");
	const apply = () => {
		const { theme } = settings.current.value;
		document.documentElement.dataset.theme = theme === "system" ? (light.matches ? "light" : "dark") : theme;
	};
	effect(apply);
	light.addEventListener("change", apply);
}
