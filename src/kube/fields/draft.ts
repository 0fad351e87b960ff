/** The readable parts of a `T` that has problems: any field may be missing, and any item of a list. */
export type Draft<T> = T extends readonly (infer Item)[]
  ? readonly (Draft<Item> | undefined)[]
  : T extends object
    ? { readonly [Name in keyof T]?: Draft<T[Name]> | undefined }
    : T;

/** The items that could be read, each with its index. */
export function entriesOf<Item>(list: readonly (Item | undefined)[] | undefined): [number, Item][] {
  return (list ?? []).flatMap((item, index): [number, Item][] => (item === undefined ? [] : [[index, item]]));
}
