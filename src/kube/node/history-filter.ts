/** Selects records of a node's history (default: all). */
export interface HistoryFilter {
  /** Records of pods in this namespace; records of the node count as `default`, as in Kubernetes. */
  readonly namespace?: string | undefined;
  /** The name of a pod; its name in the manifest matches too. */
  readonly pod?: string | undefined;
  /** The uid of a pod. */
  readonly uid?: string | undefined;
  readonly kinds?: readonly string[] | undefined;
  readonly types?: readonly string[] | undefined;
  /** Wall-clock milliseconds; both ends are included. */
  readonly sinceMs?: number | undefined;
  readonly untilMs?: number | undefined;
}
