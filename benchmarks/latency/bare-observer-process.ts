/**
 * The least that finds out about an end and its exit code: the runtime's event stream and one ContainerStatus each, by
 * the product's own client, in a process of its own as the agents are.
 *
 * Started by {@link BareObserver}. Says `ready`, answers `report` with what it saw, and ends when its parent does.
 *
 * @module
 */
import { ContainerEventType } from '#watch/messages';
import { CriClient, readContainerEvents } from '#watch';
import { type BareSighting } from './bare-observer.js';

/** How long an event stream is given to come up: a Go server does not say when it has. */
const STREAM_SETTLE_MS = 1_500;

const client = new CriClient({ endpoint: process.argv[2]! });
const sightings: BareSighting[] = [];
const wallMs = (): number => performance.timeOrigin + performance.now();

function take(containerId: string): void {
  const eventMs = wallMs();
  client.containerStatus({ containerId }).then(
    () => sightings.push({ containerId, eventMs, knownMs: wallMs() }),
    // Removed since: its death was known before.
    () => undefined,
  );
}

process.on('message', () => process.send?.(sightings));
process.on('disconnect', () => process.exit());
const reading = readContainerEvents(
  client,
  {
    onEvent: ({ containerId, containerEventType }) => {
      if (containerEventType === ContainerEventType.CONTAINER_STOPPED_EVENT) take(containerId);
    },
  },
  { signal: new AbortController().signal },
);
setTimeout(() => process.send?.('ready'), STREAM_SETTLE_MS);
await reading;
// A stream that ended leaves its parent without an observer.
process.exit(1);
