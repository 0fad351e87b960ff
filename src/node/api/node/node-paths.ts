/** What holds for a kubelet's paths, whatever stands behind their first part. */
export interface NodePath {
  /** Whether who has shown nothing may see it, where that is wanted. */
  readonly isHealth?: boolean;
  /** What of `nodes` a cluster lets people see, in its rules, who may see this. */
  readonly subresources: readonly string[];
  /** With which of a kubelet's switches it goes. */
  readonly closedBy?: readonly ClosedBy[];
}

/** A switch of an operator. */
export type ClosedBy = 'debugging' | 'systemLogs';

/**
 * Every first part of a path that a kubelet has, too, or that is podloop's own and answered in the same way: in words,
 * and not with a Status.
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

/** What holds for a path, or for one as it is written where it is served; undefined for what is no kubelet's. */
export function findNodePath(path: string): NodePath | undefined {
  const name = /^\/([^/?]+)/.exec(path)?.[1] ?? '';
  return Object.hasOwn(NODE_PATHS, name) ? NODE_PATHS[name] : undefined;
}
