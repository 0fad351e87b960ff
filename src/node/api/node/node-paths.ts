/** The rules for a kubelet's paths, by their first part. */
export interface NodePath {
  /** Whether clients without credentials may see it, if that is enabled. */
  readonly isHealth?: boolean;
  /** The subresources of `nodes` that a cluster's rules have to grant for it. */
  readonly subresources: readonly string[];
  /** The kubelet's switches that close it. */
  readonly closedBy?: readonly ClosedBy[];
}

/** A switch of an operator. */
export type ClosedBy = 'debugging' | 'systemLogs';

/**
 * The first parts of paths that a kubelet has, and of podloop's own that answer like a kubelet: in words,
 * without a Status.
 */
export const NODE_PATHS: Readonly<Record<string, NodePath>> = {
  healthz: { isHealth: true, subresources: ['healthz', 'proxy'] },
  livez: { isHealth: true, subresources: ['proxy'] },
  readyz: { isHealth: true, subresources: ['proxy'] },
  metrics: { subresources: ['metrics'] },
  stats: { subresources: ['stats'] },
  checkpoint: { subresources: ['checkpoint'], closedBy: ['debugging'] },
  pods: { subresources: ['pods', 'proxy'] },
  runningpods: { subresources: ['pods', 'proxy'], closedBy: ['debugging'] },
  containerLogs: { subresources: ['proxy'], closedBy: ['debugging'] },
  run: { subresources: ['proxy'], closedBy: ['debugging'] },
  exec: { subresources: ['proxy'], closedBy: ['debugging'] },
  attach: { subresources: ['proxy'], closedBy: ['debugging'] },
  portForward: { subresources: ['proxy'], closedBy: ['debugging'] },
  logs: { subresources: ['log'], closedBy: ['debugging', 'systemLogs'] },
  events: { subresources: ['proxy'] },
  debug: { subresources: ['proxy'] },
  configz: { subresources: ['configz', 'proxy'] },
};

/** The rules for a path or a template; undefined if it is not a kubelet's. */
export function findNodePath(path: string): NodePath | undefined {
  const name = /^\/([^/?]+)/.exec(path)?.[1] ?? '';
  return Object.hasOwn(NODE_PATHS, name) ? NODE_PATHS[name] : undefined;
}
