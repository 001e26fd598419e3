/** What a program wants to put on the clipboard (OSC 52). It never learns what is there. */

/** More than a person could have meant to copy, in characters of the sequence. */
const MAX_ENCODED = 1024 * 1024;

/** The text of a request; undefined when it is none that we would carry out. */
export function clipboardText(data: string): string | undefined {
	const encoded = data.slice(data.indexOf(";") + 1);
	// A question mark asks for the clipboard.
	if (encoded === "?" || encoded.length > MAX_ENCODED) return undefined;
	try {
		return new TextDecoder().decode(Uint8Array.from(atob(encoded), (character) => character.charCodeAt(0)));
	} catch {
		return undefined;
	}
}
