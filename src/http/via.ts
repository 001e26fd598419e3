/** Marks requests that our own proxy forwards. */

export const VIA = "1.1 hawser";

/** How many times our own proxy is in the `Via` header of a request. */
export function hopsIn(via: string | undefined): number {
	return (via ?? "").split(",").filter((hop) => hop.trim() === VIA).length;
}
