import { type Pleg, type PodCache } from '#watch';
import { type ContainerLogs } from '../objects/pod-log.js';

/** What {@link containerLogs} asks. */
export interface ContainerLogsOptions {
  readonly podLogsDir: string;
  /** Knows the paths of logs. */
  readonly cache: Pick<PodCache, 'getLastKnown'>;
  /** Knows which containers there are, and run, also of a pod whose status cannot be had. */
  readonly pleg: Pick<Pleg, 'findObserved'>;
}

/** Where the logs of containers are, as the runtime says. */
export function containerLogs({ podLogsDir, cache, pleg }: ContainerLogsOptions): ContainerLogs {
  return {
    podLogsDir,
    find: (podUid, containerId) => {
      const isMeant = ({ id }: { readonly id: string }): boolean => id === containerId;
      const known = cache.getLastKnown(podUid).containers.find(isMeant);
      const seen = pleg.findObserved(podUid)?.containers.find(isMeant);
      if (known === undefined && seen === undefined) return undefined;
      const isWritten = seen?.state === 'running' || seen?.state === 'created';
      return { logPath: known?.logPath ?? '', isWritten };
    },
  };
}
