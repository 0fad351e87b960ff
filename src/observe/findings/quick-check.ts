import { relistEnded } from '#base/channels/pleg-channels.js';
import { type Channels } from '#base/channels/publishing-channel.js';
import { withinTime } from '#base/async/within-time.js';
import { systemCodeOf } from '#base/errors/system-code.js';
import { type Clock } from '#base/time/clock.js';
import { HostFiles, httpGet, readPressure, ShimGlancer, type SilentPaths } from '#doctor';
import { type CriClient, type Pleg } from '#watch';
import { type QuickFacts } from './find-suspicions.js';

/** What {@link QuickCheck} reads. */
export interface QuickCheckOptions {
  readonly pleg: Pick<Pleg, 'health'>;
  readonly client: Pick<CriClient, 'connectionState'>;
  readonly channels: Channels;
  /** Health check of the kubelet; empty for none. */
  readonly healthzUrl: string;
  readonly hostRoot: string;
  /** Files that hang: each is read again only when it has answered. */
  readonly silentPaths: SilentPaths;
  readonly clock: Clock;
}

/** A kubelet that is well answers within milliseconds. */
const KUBELET_TIMEOUT_MS = 3_000;
/** How much of the usual time of a list the newest one is. */
const NEWEST_SHARE = 0.1;

/** Reads {@link QuickFacts}: some small files, one request to the kubelet, and nothing of the runtime. */
export class QuickCheck implements Disposable {
  readonly #options: QuickCheckOptions;
  readonly #leave: () => void;
  #longestListMs = 0;
  #usualListMs: number | undefined;
  #hadKubelet = false;
  readonly #shims = new ShimGlancer();

  constructor(options: QuickCheckOptions) {
    this.#options = options;
    this.#leave = options.channels.subscribe(relistEnded, ({ scope, listMs, error }) => {
      if (scope !== 'all' || error !== undefined) return;
      this.#longestListMs = Math.max(this.#longestListMs, listMs);
      const usualMs = this.#usualListMs ?? listMs;
      this.#usualListMs = usualMs + (listMs - usualMs) * NEWEST_SHARE;
    });
  }

  /** Lists are those since the last call. */
  async read(signal: AbortSignal): Promise<QuickFacts> {
    const { pleg, client, hostRoot, silentPaths, clock } = this.#options;
    const files = new HostFiles({ root: hostRoot, clock, signal, silentPaths });
    const [pressure, isKubeletHealthy, shims] = await Promise.all([
      readPressure(files),
      this.#askKubelet(signal),
      this.#shims.glance(files).catch(() => ({ stopped: 0, stoppedDaemons: 0, longCalls: 0 })),
    ]);
    const longestListMs = this.#longestListMs;
    this.#longestListMs = 0;
    return {
      ...{ health: pleg.health(), isConnected: client.connectionState === 'ready' },
      ...{ longestListMs, usualListMs: this.#usualListMs ?? 0, isKubeletHealthy },
      ioFull: pressure.known ? pressure.value.io.fullAvg10 : undefined,
      memoryFull: pressure.known ? pressure.value.memory.fullAvg10 : undefined,
      ...{ stoppedShims: shims.stopped, stoppedDaemons: shims.stoppedDaemons, longOciCalls: shims.longCalls },
    };
  }

  [Symbol.dispose](): void {
    this.#leave();
  }

  async #askKubelet(signal: AbortSignal): Promise<boolean | undefined> {
    const { healthzUrl, clock } = this.#options;
    if (healthzUrl === '') return undefined;
    try {
      const { status } = await withinTime({ clock, limitMs: KUBELET_TIMEOUT_MS, signal }, async (limited) =>
        httpGet(healthzUrl, {}, limited),
      );
      this.#hadKubelet = true;
      return status === 200;
    } catch (error) {
      // Where there never was one, nothing is wrong with it.
      return this.#hadKubelet || systemCodeOf(error) !== 'ECONNREFUSED' ? false : undefined;
    }
  }
}
