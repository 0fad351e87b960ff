import { type Pleg, type PodCache } from '#watch';
import { type ContainerLogs } from '../objects/pod-log.js';

/** Sources of {@link containerLogs}. */
export interface ContainerLogsOptions {
  readonly podLogsDir: string;
  /** Knows the paths of logs. */
  readonly cache: Pick<PodCache, 'getLastKnown'>;
  /** Knows which containers exist and run, including pods whose status is unavailable. */
  readonly pleg: Pick<Pleg, 'findObserved'>;
}

/** Where the logs of containers are, as the runtime reports. */
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
