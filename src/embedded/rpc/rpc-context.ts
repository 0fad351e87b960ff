import { type Logger } from '../../util/logger.js';
import { type EventHub } from '../event-hub.js';
import { type ImageStore } from '../images/image-store.js';
import { type NanoClock } from '../nano-clock.js';
import { type PodEvents } from '../pod-events.js';
import { type PodRegistry } from '../pod-registry.js';

/** What the handlers of the calls work on. */
export interface RpcContext {
  readonly pods: PodRegistry;
  readonly images: ImageStore;
  readonly events: PodEvents;
  readonly hub: EventHub;
  readonly time: NanoClock;
  readonly logger: Logger;
  readonly rootDir: string;
  readonly version: string;
}
