/** Which records of a node's history somebody wants (default: all). */
export interface HistoryFilter {
  /** Records of pods of this namespace; those of the node count as of `default`, as Kubernetes has it. */
  readonly namespace?: string | undefined;
  /** The name of a pod, also as in its manifest. */
  readonly pod?: string | undefined;
  /** The uid of a pod. */
  readonly uid?: string | undefined;
  readonly kinds?: readonly string[] | undefined;
  readonly types?: readonly string[] | undefined;
  /** Wall-clock milliseconds, both of them included. */
  readonly sinceMs?: number | undefined;
  readonly untilMs?: number | undefined;
}
