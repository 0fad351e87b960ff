import { spawn } from 'node:child_process';
import { type Clock } from '#base/time/clock.js';
import { killGroup } from '#base/proc/kill-group.js';
import { defer } from '../deferred.js';
import { isAlive, type ProcessIdentity } from '../process/child-identity.js';
import { sendGroupSignal } from '../process/process-table.js';

/** The shell over one container, from the outside. It needs nothing of us; we only want to know of its end. */
export interface Supervisor {
  /** Undefined when it could not be started. Means something only while it has not ended. */
  readonly pid: number | undefined;
  /** Whether it is gone. When it is, nothing more will come into the container's files. */
  hasEnded(): boolean;
  /** Waits for its end; false when it lives on after `timeoutMs`. */
  waitForEnd(timeoutMs: number): Promise<boolean>;
  /** Kills it and what it has started beside the container. */
  kill(): void;
}

/** How often to poll an adopted supervisor, whose end no event reports, while a caller waits. */
const POLL_MS = 5;

/** What {@link spawnSupervisor} needs. */
export interface SpawnSupervisorOptions {
  /** Path of the script. */
  readonly script: string;
  /** The container's folder. */
  readonly dir: string;
  /** Number of the run. */
  readonly run: number;
  /** The script's argument that names the streams to open. */
  readonly streams: string;
  /** Where the script's few programs are. */
  readonly path: string;
  readonly clock: Clock;
  /** Called once when it has ended, or could not be started. */
  readonly onEnd: () => void;
}

/** Starts a supervisor in a session of its own, so that no signal meant for us reaches it. */
export function spawnSupervisor(options: SpawnSupervisorOptions): Supervisor {
  const { script, dir, run, streams, path, clock, onEnd } = options;
  const child = spawn('/bin/sh', [script, dir, String(run), streams], {
    cwd: '/',
    detached: true,
    stdio: 'ignore',
    env: { PATH: path },
  });
  child.unref();
  let ended = false;
  const end = new Promise<void>((resolve) => {
    const settle = () => {
      ended = true;
      resolve();
      onEnd();
    };
    child.once('exit', settle);
    child.once('error', settle);
  });
  return {
    pid: child.pid,
    hasEnded: () => ended,
    waitForEnd: async (timeoutMs) => {
      const timeout = defer<undefined>();
      const timer = clock.setTimer(timeoutMs, () => timeout.resolve(undefined));
      await Promise.race([end, timeout.promise]);
      timer.cancel();
      return ended;
    },
    kill: () => {
      if (!ended) killGroup(child);
    },
  };
}

/** Takes up a supervisor that an earlier runtime has started in this boot. */
export function adoptSupervisor(identity: ProcessIdentity, clock: Clock): Supervisor {
  const hasEnded = () => !isAlive(identity);
  return {
    pid: identity.pid,
    hasEnded,
    waitForEnd: async (timeoutMs) => {
      const deadline = clock.monotonicMs() + timeoutMs;
      while (!hasEnded() && clock.monotonicMs() < deadline) await clock.sleep(POLL_MS);
      return hasEnded();
    },
    kill: () => {
      sendGroupSignal(identity, 'SIGKILL');
    },
  };
}
