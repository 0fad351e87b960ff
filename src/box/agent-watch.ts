import { type Clock } from '#base/time/clock.js';
import { findOwnerless, type FolderLock, NODE_ROOT_LOCK } from '#base/fs/folder-lock.js';
import { systemCodeOf } from '#base/errors/system-code.js';

/** What {@link waitForAgentEnd} needs. */
export interface AgentWatchOptions {
  /** Root folder of node agents, whichever works in it. */
  readonly rootDir: string;
  /** Whether the runtime may end, seen from its own side. */
  readonly isIdle: () => boolean;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

const POLL_MS = 500;

/**
 * Resolves once no agent works in a root folder while the runtime is idle, with the folder's lock: as long as it is
 * held a new agent waits, and does not take up a runtime that is ending. Undefined when the folder is gone. Rejects with
 * the signal's reason when it aborts.
 *
 * It does not matter which agent has started the runtime, and whether that one or a later one was killed: what counts is
 * who has the folder.
 */
export async function waitForAgentEnd(options: AgentWatchOptions): Promise<FolderLock | undefined> {
  const { rootDir, isIdle, clock, signal } = options;
  for (;;) {
    await clock.sleep(POLL_MS, signal);
    if (!isIdle()) continue;
    try {
      const lock = await findOwnerless(rootDir, NODE_ROOT_LOCK);
      // It may have got something to do meanwhile, from any client.
      if (lock !== undefined && isIdle()) return lock;
      await lock?.release();
    } catch (error) {
      // Anything else (no descriptors, no memory) says nothing about agents.
      if (systemCodeOf(error) === 'ENOENT') return undefined;
    }
  }
}
