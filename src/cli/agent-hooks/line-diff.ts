/** Shows the change of a text by lines: removed ones with `-`, added ones with `+`, and some lines around them. */

const CONTEXT_LINES = 3;
/** Larger changes are shown as one removed and one added block. */
const MAX_CELLS = 4_000_000;

type Line = { readonly sign: " " | "-" | "+"; readonly text: string };

export function lineDiff(before: string, after: string): string {
	const lines = compare(linesOf(before), linesOf(after));
	const isShown = lines.map((_, index) =>
		lines.slice(Math.max(0, index - CONTEXT_LINES), index + CONTEXT_LINES + 1).some(({ sign }) => sign !== " "),
	);
	const shown = lines.flatMap(({ sign, text }, index) => {
		if (!isShown[index]) return [];
		const isGap = index > 0 && !isShown[index - 1];
		return [...(isGap ? ["  …"] : []), `${sign} ${text}`];
	});
	return shown.map((line) => `${line}\n`).join("");
}

function linesOf(text: string): string[] {
	return text === "" ? [] : text.replace(/\r?\n$/, "").split(/\r?\n/);
}

function compare(before: readonly string[], after: readonly string[]): Line[] {
	let head = 0;
	while (head < before.length && head < after.length && before[head] === after[head]) head++;
	let tail = 0;
	const most = Math.min(before.length, after.length) - head;
	while (tail < most && before.at(-1 - tail) === after.at(-1 - tail)) tail++;
	const same = (texts: readonly string[]): Line[] => texts.map((text) => ({ sign: " ", text }));
	return [
		...same(before.slice(0, head)),
		...middle(before.slice(head, before.length - tail), after.slice(head, after.length - tail)),
		...same(before.slice(before.length - tail)),
	];
}

/** By the longest common subsequence. */
function middle(before: readonly string[], after: readonly string[]): Line[] {
	const removed = (texts: readonly string[]): Line[] => texts.map((text) => ({ sign: "-", text }));
	const added = (texts: readonly string[]): Line[] => texts.map((text) => ({ sign: "+", text }));
	const width = after.length + 1;
	if (before.length * after.length > MAX_CELLS) return [...removed(before), ...added(after)];
	const lengths = new Uint32Array((before.length + 1) * width);
	const length = (row: number, column: number) => lengths[row * width + column] ?? 0;
	for (let row = before.length - 1; row >= 0; row--) {
		for (let column = after.length - 1; column >= 0; column--) {
			lengths[row * width + column] =
				before[row] === after[column]
					? length(row + 1, column + 1) + 1
					: Math.max(length(row + 1, column), length(row, column + 1));
		}
	}
	const lines: Line[] = [];
	let [row, column] = [0, 0];
	while (row < before.length && column < after.length) {
		const text = before[row] ?? "";
		if (text === after[column]) {
			lines.push({ sign: " ", text });
			row++;
			column++;
		} else if (length(row + 1, column) >= length(row, column + 1)) lines.push(...removed(before.slice(row, ++row)));
		else lines.push(...added(after.slice(column, ++column)));
	}
	return [...lines, ...removed(before.slice(row)), ...added(after.slice(column))];
}
