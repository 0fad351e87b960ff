/** As much of the Node object as bears on the pods of the node. Nothing is sure to be there. */
export interface ApiNode {
  readonly metadata?: {
    readonly name?: string;
    readonly uid?: string;
    readonly resourceVersion?: string;
    readonly deletionTimestamp?: string;
    readonly labels?: Readonly<Record<string, string>>;
  };
  readonly spec?: { readonly taints?: readonly NodeTaint[] };
}

/** What keeps pods away that do not tolerate it. */
export interface NodeTaint {
  readonly key?: string;
  readonly value?: string;
  readonly effect?: string;
}
