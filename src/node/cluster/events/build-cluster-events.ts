import type { ClusterEventsStats, KubeClient, NodeEvent } from '#cluster';
import { type Clock } from '#base/time/clock.js';
import { type Logger } from '#base/log/logger.js';
import { type AgentParts } from '../../parts/agent-parts.js';

/** What {@link buildClusterEvents} needs. */
export interface ClusterEventsParts {
  readonly nodeName: string;
  /** Of the Node object; undefined until it was seen. */
  readonly nodeUid: () => string | undefined;
  readonly parts: Pick<AgentParts, 'events' | 'hide' | 'manager'>;
  /** With connections that a flood of events may hold up. */
  readonly api: Pick<KubeClient, 'request'>;
  /** eventRecordQPS; 50 unless told, 0 for no limit. */
  readonly eventRecordQps?: number;
  /** eventBurst (default: 100). */
  readonly eventBurst?: number;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** What tells an API server of what happens to an agent's node and pods. */
export interface BuiltClusterEvents {
  readonly stats: ClusterEventsStats;
  /** Takes events of the node. */
  recordNode(event: NodeEvent): void;
  /** The API server is there: what waits for another try is tried now. */
  retryNow(): void;
  /** Until the signal aborts; resolves then. */
  run(signal: AbortSignal): Promise<void>;
}

/** Sends the agent's events to an API server: those of pods from now on, told by its log of events. Loads what only a node of a cluster needs. */
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
  const unfollow = log.follow(events);
  // Whoever watches nodes waits for this reason after a restart, whatever program it is that starts.
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
