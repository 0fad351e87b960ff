import { CriClient } from '../../src/cri/client.js';
import { readContainerEvents } from '../../src/cri/event-stream.js';
import { ContainerEventType } from '../../src/cri/generated/runtime/v1/cri.js';
import { Pleg } from '../../src/pleg/pleg.js';
import { type PlegMode } from '../../src/pleg/relist-cadence.js';
import { CriRuntime } from '../../src/runtime/cri-runtime.js';

/** Somebody who finds out about deaths, for as long as it is open. */
export interface DeathObserver extends AsyncDisposable {
  /** Resolves with the monotonic milliseconds at which the death became known here. */
  waitForDeath(containerId: string, signal: AbortSignal): Promise<number>;
}

/** Opens an observer that has settled: what it hears of from now on is news. */
export type OpenObserver = (endpoint: string) => Promise<DeathObserver>;

/** How long an event stream is given to come up: a Go server does not say when it has. */
const STREAM_SETTLE_MS = 1500;

/** The least that can be done: the event stream, and one ContainerStatus at each end. By the product's own client. */
export async function openBareObserver(endpoint: string): Promise<DeathObserver> {
  const client = new CriClient({ endpoint });
  const deaths = new Deaths();
  const stop = new AbortController();
  const reading = readContainerEvents(
    client,
    {
      onEvent: ({ containerId, containerEventType }) => {
        if (containerEventType !== ContainerEventType.CONTAINER_STOPPED_EVENT) return;
        client.containerStatus({ containerId }).then(
          () => deaths.tell(containerId),
          // Removed since: its death was known before.
          () => undefined,
        );
      },
    },
    { signal: stop.signal },
  ).catch(() => undefined);
  await new Promise((resolve) => setTimeout(resolve, STREAM_SETTLE_MS));
  return {
    waitForDeath: (containerId, signal) => deaths.wait(containerId, signal),
    [Symbol.asyncDispose]: async () => {
      stop.abort();
      await reading;
      client.close();
    },
  };
}

/** The product: ContainerDied out of a subscription of the generator. */
export function openPlegObserver(mode: PlegMode): OpenObserver {
  return async (endpoint) => {
    const client = new CriClient({ endpoint });
    const pleg = new Pleg({ runtime: new CriRuntime({ client }), mode });
    const deaths = new Deaths();
    const stop = new AbortController();
    const subscription = pleg.subscribe();
    const reading = (async () => {
      for await (const event of subscription) {
        if (event.type === 'ContainerDied' && event.kind === 'container') deaths.tell(event.containerId);
      }
    })();
    const running = pleg.run(stop.signal);
    await new Promise((resolve) => setTimeout(resolve, STREAM_SETTLE_MS));
    return {
      waitForDeath: (containerId, signal) => deaths.wait(containerId, signal),
      [Symbol.asyncDispose]: async () => {
        stop.abort();
        subscription.close();
        await Promise.all([running, reading]);
        client.close();
      },
    };
  };
}

/** When each death became known, and who waits for it. */
class Deaths {
  readonly #toldAtMs = new Map<string, number>();
  readonly #waiting = new Map<string, (toldAtMs: number) => void>();

  tell(containerId: string): void {
    if (this.#toldAtMs.has(containerId)) return;
    const now = performance.now();
    this.#toldAtMs.set(containerId, now);
    this.#waiting.get(containerId)?.(now);
  }

  async wait(containerId: string, signal: AbortSignal): Promise<number> {
    const toldAtMs = this.#toldAtMs.get(containerId);
    if (toldAtMs !== undefined) return toldAtMs;
    return new Promise((resolve, reject) => {
      this.#waiting.set(containerId, resolve);
      signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
    }).finally(() => this.#waiting.delete(containerId)) as Promise<number>;
  }
}
