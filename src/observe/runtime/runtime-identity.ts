import { type Channels } from '#base/channels/publishing-channel.js';
import { criConnectionChanged } from '#base/channels/channels.js';
import { type CriClient } from '#watch';

/** What {@link RuntimeIdentity} asks. */
export interface RuntimeIdentityOptions {
  readonly client: Pick<CriClient, 'version' | 'endpoint'>;
  readonly channels: Channels;
  /** Called with each new answer. */
  readonly onKnown: (name: string, version: string) => void;
}

const TIMEOUT_MS = 10_000;

/**
 * Name and version of the runtime, as far as it has said. It is asked again whenever the connection comes up, since an
 * upgrade is a restart.
 */
export class RuntimeIdentity implements Disposable {
  readonly endpoint: string;
  readonly #options: RuntimeIdentityOptions;
  readonly #leave: () => void;
  #name = '';
  #version = '';

  constructor(options: RuntimeIdentityOptions) {
    this.endpoint = options.client.endpoint;
    this.#options = options;
    this.#leave = options.channels.subscribe(criConnectionChanged, ({ state }) => {
      if (state === 'ready') void this.ask();
    });
  }

  /** Empty before the first answer. */
  get name(): string {
    return this.#name;
  }

  get version(): string {
    return this.#version;
  }

  /** Asks now. A runtime that does not answer stays what it was; never rejects. */
  async ask(signal?: AbortSignal): Promise<void> {
    const { client, onKnown } = this.#options;
    try {
      const { runtimeName, runtimeVersion } = await client.version({}, { timeoutMs: TIMEOUT_MS, signal });
      const isNew = runtimeName !== this.#name || runtimeVersion !== this.#version;
      this.#name = runtimeName;
      this.#version = runtimeVersion;
      if (isNew) onKnown(runtimeName, runtimeVersion);
    } catch {
      // The lists fail as well, which is reported.
    }
  }

  [Symbol.dispose](): void {
    this.#leave();
  }
}
