export declare const layers: Readonly<Record<string, readonly string[]>>;

/** The forbidden imports of a file, each as a sentence. */
export declare function forbiddenImports(file: string, text: string): string[];
