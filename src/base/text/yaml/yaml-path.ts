/** One step into a document: a key or the index of an item. */
export type YamlStep = string | number;
