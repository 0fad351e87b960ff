import type { ClusterEventsStats, KubeClient, NodeEvent } from '#cluster';
import { type Clock } from '#base/time/clock.js';
import { type Logger } from '#base/log/logger.js';
import { type AgentParts } from '../../parts/agent-parts.js';

/** What {@link buildClusterEvents} needs. */
export interface ClusterEventsParts {
  readonly nodeName: string;
  /** The uid of the Node object; undefined until it was read. */
  readonly nodeUid: () => string | undefined;
  readonly parts: Pick<AgentParts, 'events' | 'hide' | 'manager'>;
  /** Has connections of its own, as a flood of events may block them. */
  readonly api: Pick<KubeClient, 'request'>;
  /** eventRecordQPS (default: 50); 0 for no limit. */
  readonly eventRecordQps?: number;
  /** eventBurst (default: 100). */
  readonly eventBurst?: number;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Reports to an API server what happens to an agent's node and pods. */
export interface BuiltClusterEvents {
  readonly stats: ClusterEventsStats;
  /** Records events of the node. */
  recordNode(event: NodeEvent): void;
  /** The API server is back: retries pending events now. */
  retryNow(): void;
  /** Runs until the signal aborts; then resolves. */
  run(signal: AbortSignal): Promise<void>;
}

/**
 * Sends the agent's events to an API server: those of pods from now on, from its log of events.
 *
 * Loads what only a node of a cluster needs.
 */
export async function buildClusterEvents(given: ClusterEventsParts): Promise<BuiltClusterEvents> {
  const { nodeName, nodeUid, parts, api: client, clock, logger, eventRecordQps, eventBurst } = given;
  const { ClusterEvents } = await import('#cluster');
  const { events: log, hide, manager } = parts;
  const events = new ClusterEvents({
    ...{ client, nodeName, nodeUid, hide, clock, logger },
    findPod: (uid) => manager.findPod(uid),
    ...(eventRecordQps === undefined ? {} : { eventRecordQps }),
    ...(eventBurst === undefined ? {} : { eventBurst }),
  });
  // A server knows nothing of the workloads of manifests.
  const unfollow = log.follow({
    record: (pod, event) => {
      if (event.about === undefined) events.record(pod, event);
    },
  });
  // Observers of nodes expect this reason after a restart, whatever program starts.
  events.recordNode({ type: 'Normal', reason: 'Starting', message: 'Starting kubelet.' });
  return {
    get stats() {
      return events.stats;
    },
    recordNode: (event) => events.recordNode(event),
    retryNow: () => events.retryNow(),
    run: async (signal) => {
      try {
        await events.run(signal);
      } finally {
        unfollow();
      }
    },
  };
}
