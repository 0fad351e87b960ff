import { join } from 'node:path';
import { type CriClient, quoteRuntimeError } from '#watch';
import { type ContainerActions } from '../objects/container-actions.js';
import { type Clock } from '#base/time/clock.js';
import { makeFolder } from '#base/fs/make-folder.js';

/** What {@link containerActions} needs. */
export interface ContainerActionsOptions {
  readonly client: Pick<CriClient, 'execSync' | 'checkpointContainer'>;
  readonly rootDir: string;
  readonly clock: Pick<Clock, 'now'>;
}

/** The runtime gets at least this long, as from a kubelet. */
const CHECKPOINT_SECONDS = 120;

/**
 * Commands and checkpoints that clients request at the node's port.
 *
 * They do not queue with probes and hooks, which a slow command would block.
 */
export function containerActions({ client, rootDir, clock }: ContainerActionsOptions): ContainerActions {
  return {
    run: async ({ pod, id: containerId }, command, signal) =>
      quoting(client.execSync({ containerId, cmd: [...command], timeout: 0n }, { signal, pod })),
    checkpoint: async ({ pod, name, id: containerId }, timeoutSeconds) => {
      const folder = join(rootDir, 'checkpoints');
      await makeFolder(folder, 0o700);
      const time = new Date(clock.now()).toISOString();
      const location = join(folder, `checkpoint-${pod.name}_${pod.namespace}-${name}-${time}.tar`);
      const timeout = BigInt(Math.max(CHECKPOINT_SECONDS, timeoutSeconds));
      // Not cancelled half way when nobody waits any more: half a file would stay.
      await quoting(client.checkpointContainer({ containerId, location, timeout }, { pod }));
      return location;
    },
  };
}

async function quoting<Answer>(answer: Promise<Answer>): Promise<Answer> {
  try {
    return await answer;
  } catch (error) {
    throw new Error(quoteRuntimeError(error), { cause: error });
  }
}
