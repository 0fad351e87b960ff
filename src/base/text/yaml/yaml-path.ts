/** One step into a document: a key or the number of an item. */
export type YamlStep = string | number;
