import { type Clock } from '#base/time/clock.js';
import { type Logger } from '#base/log/logger.js';
import { type Cgroups } from '../cgroups/cgroups.js';
import { type PodStats } from '../stats/pod-stats.js';
import { type EventHub } from '../pods/event-hub.js';
import { type ImageStore } from '../images/image-store.js';
import { type Isolation } from '../isolation/isolation.js';
import { type NanoClock } from '../nano-clock.js';
import { type NamespaceConnector } from '../network/namespace-connector.js';
import { type PodNetwork } from '../network/pod-network.js';
import { type PodEvents } from '../pods/pod-events.js';
import { type PodRegistry } from '../pods/pod-registry.js';
import { type SandboxParts } from '../pods/sandbox-parts.js';
import { type StreamingServer } from '../streaming/streaming-server.js';

/** What the handlers of the calls work on. */
export interface RpcContext {
  readonly pods: PodRegistry;
  readonly images: ImageStore;
  readonly events: PodEvents;
  readonly hub: EventHub;
  readonly cgroups: Cgroups;
  readonly stats: PodStats;
  readonly isolation: Isolation;
  readonly parts: SandboxParts;
  /** Without isolation no new pod gets anything of it. */
  readonly network: PodNetwork;
  /** Grants the streams of Exec, Attach and PortForward. */
  readonly streaming: Pick<StreamingServer, 'grant' | 'close'>;
  /** Makes the connections of PortForward. */
  readonly connector: Pick<NamespaceConnector, 'close'>;
  readonly clock: Clock;
  readonly time: NanoClock;
  readonly logger: Logger;
  readonly rootDir: string;
  readonly version: string;
  readonly choices: RuntimeChoices;
}

/** The options that the runtime was started with, unresolved: `auto` stays `auto`. */
export interface RuntimeChoices {
  readonly isolation: string;
  readonly network: string;
  readonly imageDirs: readonly string[];
  /** One at most. */
  readonly imageVerifierDirs: readonly string[];
}
