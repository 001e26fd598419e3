/** Keeps the page as high as its visible part while a phone's keyboard covers the rest. */

/** Smaller differences, in CSS pixels, come from sliding browser bars and rounding. */
const LEAST_COVERED_PX = 60;

export function trackViewport(): void {
	const viewport = window.visualViewport;
	if (!viewport) return;
	const { style } = document.documentElement;
	const look = () => {
		// A user who zooms in sees less of the page without covering it.
		const isCovered = viewport.scale <= 1 && innerHeight - viewport.height >= LEAST_COVERED_PX;
		if (isCovered) {
			style.setProperty("--page-height", `${viewport.height}px`);
			// Some browsers scroll the page up to the focused field.
			style.setProperty("--page-top", `${viewport.offsetTop}px`);
		} else {
			style.removeProperty("--page-height");
			style.removeProperty("--page-top");
		}
	};
	viewport.addEventListener("resize", look);
	viewport.addEventListener("scroll", look);
}
