import { setTimeout as sleep } from 'node:timers/promises';

import { ContainerState, type Container } from '../../../src/cri/generated/runtime/v1/cri.js';
import { runtimeService, type CriDriver } from '../harness/cri-driver.js';
import { type RuntimeGate } from './runtime-gate.js';

/** The label that names a container's story. */
export const KEY_LABEL = 'podloop.test/key';
const PERIOD_MS = 200;

/** The driver's own eyes: lists all containers every 200 ms while containerd answers. */
export class ContainerWatch {
  readonly #driver: CriDriver;
  readonly #gate: RuntimeGate;
  #exited = new Set<string>();

  constructor(driver: CriDriver, gate: RuntimeGate) {
    this.#driver = driver;
    this.#gate = gate;
  }

  /** Whether the newest list showed it as exited. */
  isDead(containerId: string): boolean {
    return this.#exited.has(containerId);
  }

  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      if (this.#gate.isUp) {
        const containers = await this.list().catch(() => undefined);
        const exited = containers?.filter(({ state }) => state === ContainerState.CONTAINER_EXITED);
        if (exited !== undefined) this.#exited = new Set(exited.map(({ id }) => id));
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
