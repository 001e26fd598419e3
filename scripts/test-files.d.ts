export function testFiles(): { readonly file: string; readonly tags: readonly string[] }[];
export function quickFiles(): string[];
