/** As much of any object of an API server as following it needs. Read leniently: nothing of it is sure to be there. */
export interface KubeObject {
  readonly metadata?: {
    readonly name?: string;
    readonly namespace?: string;
    readonly uid?: string;
    readonly resourceVersion?: string;
  };
}

/** One page of a collection, as the API server sends it. */
export interface KubeList<T> {
  readonly metadata?: { readonly resourceVersion?: string; readonly continue?: string };
  /** As in `PodList`; absent from servers that do not say. */
  readonly kind?: string;
  /** Absent or null when empty, from servers that leave out what is empty. */
  readonly items?: readonly T[] | null;
}
