/** Keeps the page as high as what is seen of it, while a phone's keyboard covers the rest. */

/** What differs by less, in CSS pixels, is a bar that slides away, or a fraction. */
const LEAST_COVERED_PX = 60;

export function keepViewport(): void {
	const viewport = window.visualViewport;
	if (!viewport) return;
	const { style } = document.documentElement;
	const look = () => {
		// Who zooms in sees less of the page, and wants it as it is.
		const isCovered = viewport.scale <= 1 && innerHeight - viewport.height >= LEAST_COVERED_PX;
		if (isCovered) {
			style.setProperty("--page-height", `${viewport.height}px`);
			// Some browsers scroll the page up to what is typed in.
			style.setProperty("--page-top", `${viewport.offsetTop}px`);
		} else {
			style.removeProperty("--page-height");
			style.removeProperty("--page-top");
		}
	};
	viewport.addEventListener("resize", look);
	viewport.addEventListener("scroll", look);
}
