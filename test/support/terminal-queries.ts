/** Every kind of terminal query, complete. */

const strings: readonly (readonly [name: string, text: string])[] = [
	["settings", "\u001bP$qm"],
	["capabilities", "\u001bP+q544e"],
	["colour", "\u001b]11;?"],
	["palette", "\u001b]4;1;?"],
	["clipboard", "\u001b]52;c;?"],
	["program status", "\u001b]7501;?"],
	["notifications", "\u001b]99;i=a:p=?;"],
	["kitty graphics", "\u001b_Gi=31,s=1,v=1,a=q,t=d,f=24;AAAA"],
];

export type KnownQuery = {
	readonly name: string;
	/** As the scan reports it. */
	readonly text: string;
	/** The bytes to write. */
	readonly sequence: string;
};

export const EVERY_QUERY: readonly KnownQuery[] = [
	...(
		[
			["DA1", "\u001b[c"],
			["DA1 with a zero", "\u001b[0c"],
			["DA2", "\u001b[>c"],
			["DA3", "\u001b[=c"],
			["DECID", "\u001bZ"],
			["status", "\u001b[5n"],
			["cursor", "\u001b[6n"],
			["extended cursor", "\u001b[?6n"],
			["light or dark", "\u001b[?996n"],
			["version", "\u001b[>0q"],
			["keyboard", "\u001b[?u"],
			["keyboard of xterm", "\u001b[?4m"],
			["mode", "\u001b[?2026$p"],
			["ANSI mode", "\u001b[4$p"],
			["size", "\u001b[18t"],
			["parameters", "\u001b[x"],
			["checksum of a rectangle", "\u001b[1;1;1;1;1;1*y"],
			["tabs", "\u001b[2$w"],
			["graphics", "\u001b[?2;1;0S"],
		] as const
	).map(([name, text]) => ({ name, text, sequence: text })),
	...strings.map(([name, text]) => ({ name, text, sequence: `${text}\u001b\\` })),
];
