import { spawn } from 'node:child_process';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';

import { findProgram } from '../../build-state.js';
import { findInstaller } from '../harness/installed.js';
import { type EventSource, type PlegMode } from './event-source.js';
import { type SeenEvent } from './seen-event.js';

/** A line of `podloop watch -o json`. */
interface WatchLine {
  readonly time: string;
  readonly type: string;
  readonly kind?: string;
  readonly pod?: { readonly uid: string };
  readonly containerId?: string;
  readonly exitCode?: number;
  readonly reason?: string;
  readonly trigger: string;
  readonly folded?: number;
}

/** A {@link EventSource} that is a process. */
export interface WatchSource extends EventSource {
  /** Everything on standard error so far. */
  readonly errorLines: readonly string[];
}

/** In a log line of klog's form, what is of no interest unless it is about a pod in question. */
const DETAIL = /^I(?!.*"(?:Watching|Runtime is back)")/;

/** The built `podloop watch -o json` as a process of its own. Resolves once it says that it watches. */
export async function openWatchSource(endpoint: string, mode: PlegMode): Promise<WatchSource> {
  const repository = path.resolve(path.dirname(findInstaller().script), '../..');
  const main = findProgram(repository);
  const args = [main, 'watch', '--runtime-endpoint', endpoint, '--mode', mode, '-o', 'json', '-v', '4'];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  const ended = new Promise<number | null>((resolve) => child.once('close', (code) => resolve(code)));
  const events: SeenEvent[] = [];
  const errorLines: string[] = [];
  createInterface(child.stdout).on('line', (line) => events.push(toSeenEvent(JSON.parse(line) as WatchLine)));
  createInterface(child.stderr).on('line', (line) => errorLines.push(line));
  const deadline = performance.now() + 30_000;
  while (!errorLines.some((line) => line.includes('Watching'))) {
    if (child.exitCode !== null || performance.now() > deadline) {
      child.kill('SIGKILL');
      throw new Error(`podloop watch did not begin to watch:\n${errorLines.join('\n')}`);
    }
    await sleep(20);
  }
  return {
    events,
    errorLines,
    tellMore: (podUids) =>
      errorLines
        .filter((line) => !DETAIL.test(line) || podUids.some((uid) => line.includes(uid)))
        .slice(-400)
        .join('\n'),
    [Symbol.asyncDispose]: async () => {
      child.kill('SIGINT');
      const code = await Promise.race([ended, sleep(10_000, 'late' as const, { ref: false })]);
      if (code === 'late') child.kill('SIGKILL');
      if (code !== 0)
        throw new Error(`podloop watch ended with ${code}:\n${errorLines.slice(-20).join('\n')}`);
    },
  };
}

function toSeenEvent(line: WatchLine): SeenEvent {
  return {
    atMs: Date.parse(line.time),
    type: line.type,
    kind: line.kind,
    podUid: line.pod?.uid,
    containerId: line.containerId,
    exitCode: line.exitCode,
    reason: line.reason,
    trigger: line.trigger,
    folded: line.folded ?? 0,
  };
}
