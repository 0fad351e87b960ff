import { status } from '@grpc/grpc-js';
import { setTimeout as sleep } from 'node:timers/promises';

import { type Containerd } from '../harness/containerd.js';
import { codeOf, type CriDriver } from '../harness/cri-driver.js';
import { type ContainerWatch } from './container-watch.js';
import { type RuntimeGate } from './runtime-gate.js';
import { type ChurnLog } from './story.js';

const MAX_TRIES = 30;

/** What all pods of a churn test share. */
export class ChurnWorld {
  readonly containerd: Containerd;
  readonly driver: CriDriver;
  readonly gate: RuntimeGate;
  readonly watch: ContainerWatch;
  readonly log: ChurnLog;
  /** Where the containers write. */
  readonly folder: string;

  constructor(parts: Omit<ChurnWorld, 'settle' | 'remove' | 'driver'>) {
    this.containerd = parts.containerd;
    this.driver = parts.containerd.driver;
    this.gate = parts.gate;
    this.watch = parts.watch;
    this.log = parts.log;
    this.folder = parts.folder;
  }

  /**
   * Makes a call that may be repeated until it is answered: stops and questions. Every failure goes to the notes; "not
   * found" is an answer, and undefined.
   */
  async settle<T>(notes: string[], what: string, call: () => Promise<T>): Promise<T | undefined> {
    return await this.#repeat(notes, what, async () => {
      try {
        return await call();
      } catch (error) {
        if (codeOf(error) === status.NOT_FOUND) return undefined;
        throw error;
      }
    });
  }

  /**
   * The same for a removal, which succeeds where nothing is left. "Not found" comes of something within that was removed at
   * the same moment: what is around it is still there.
   */
  async remove(notes: string[], what: string, call: () => Promise<unknown>): Promise<void> {
    await this.#repeat(notes, what, call);
  }

  async #repeat<T>(notes: string[], what: string, call: () => Promise<T>): Promise<T> {
    for (let tries = 1; ; tries++) {
      try {
        return await this.gate.run(call);
      } catch (error) {
        notes.push(`${what}: ${String(error)}`);
        if (tries === MAX_TRIES)
          throw new Error(`${what} failed ${tries} times: ${String(error)}`, { cause: error });
        await sleep(300);
      }
    }
  }
}
