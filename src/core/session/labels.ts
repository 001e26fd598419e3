/** Whether all label conditions hold. Each is `key` or `key=value`. */
export function matchesLabels(labels: Readonly<Record<string, string>>, wanted: readonly string[]): boolean {
	return wanted.every((one) => {
		const split = one.indexOf("=");
		if (split < 0) return Object.hasOwn(labels, one);
		const key = one.slice(0, split);
		return Object.hasOwn(labels, key) && labels[key] === one.slice(split + 1);
	});
}
