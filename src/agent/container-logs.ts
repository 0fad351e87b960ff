import { type PodCache } from '../pleg/pod-cache.js';
import { type ContainerLogs } from '../server/pod-log.js';

/** Where the logs of containers are, as the runtime says. */
export function containerLogs(podLogsDir: string, cache: Pick<PodCache, 'get'>): ContainerLogs {
  return {
    podLogsDir,
    find: (podUid, containerId) => {
      const found = cache.get(podUid).status.containers.find(({ id }) => id === containerId);
      if (found === undefined) return undefined;
      return { logPath: found.logPath, isWritten: found.state === 'running' || found.state === 'created' };
    },
  };
}
