import { setTimeout as sleep } from 'node:timers/promises';

import { ContainerState, type Container } from '../../../src/watch/cri/generated/runtime/v1/cri.js';
import { runtimeService, type CriDriver } from '../harness/cri-driver.js';
import { type RuntimeGate } from './runtime-gate.js';
import { wallMs } from './story.js';

/** The label that names a container's story. */
export const KEY_LABEL = 'podloop.test/key';
const PERIOD_MS = 200;

/** The driver's own eyes: lists all containers every 200 ms while containerd answers. */
export class ContainerWatch {
  readonly #driver: CriDriver;
  readonly #gate: RuntimeGate;
  readonly #deadSinceMs = new Map<string, number>();

  constructor(driver: CriDriver, gate: RuntimeGate) {
    this.#driver = driver;
    this.#gate = gate;
  }

  /** When a list first showed it as exited; undefined as long as none has. */
  deadSinceMs(containerId: string): number | undefined {
    return this.#deadSinceMs.get(containerId);
  }

  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      if (this.#gate.isUp) {
        for (const { id, state } of await this.list().catch(() => [])) {
          if (state !== ContainerState.CONTAINER_EXITED || this.#deadSinceMs.has(id)) continue;
          this.#deadSinceMs.set(id, wallMs());
        }
      }
      await sleep(PERIOD_MS, undefined, { signal }).catch(() => undefined);
    }
  }

  /** The id of the container with that key in its label. */
  async findByKey(key: string): Promise<string | undefined> {
    return (await this.list()).find(({ labels }) => labels[KEY_LABEL] === key)?.id;
  }

  async list(): Promise<readonly Container[]> {
    const { containers } = await this.#driver.call(
      runtimeService.listContainers,
      { filter: undefined },
      { deadlineMs: 20_000 },
    );
    return containers;
  }
}
