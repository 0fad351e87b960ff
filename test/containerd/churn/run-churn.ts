import { setTimeout as sleep } from 'node:timers/promises';

import { startContainerd } from '../harness/containerd.js';
import { type Release } from '../harness/installed.js';
import { driveChurn } from './churn-driver.js';
import { type ChurnResult } from './churn-report.js';
import { type ChurnSettings } from './churn-settings.js';
import { readOwnWords } from './container-script.js';
import { type PlegMode } from './event-source.js';
import { type Evidence } from './evidence.js';
import { judge } from './judge.js';
import { openLibrarySource } from './library-source.js';
import { wallMs, type OwnWords } from './story.js';
import { openWatchSource } from './watch-source.js';

/** How long the last events may take after the last removal. */
const LAST_EVENTS_MS = 15_000;
/** How long a second copy of an event is waited for, once everything is there. */
const QUIET_MS = 2_500;

/** Which generator on which runtime. */
export interface ChurnConfiguration {
  readonly release: Release;
  readonly mode: PlegMode;
  readonly through: 'library' | 'watch';
}

/** Runs the churn on a containerd of its own, with one generator looking on, and judges what it said. */
export async function runChurn(
  configuration: ChurnConfiguration,
  settings: ChurnSettings,
): Promise<ChurnResult> {
  const { release, mode, through } = configuration;
  await using containerd = await startContainerd({ version: release });
  const open = through === 'watch' ? openWatchSource : openLibrarySource;
  await using source = await open(containerd.endpoint, mode);
  const originMs = wallMs();
  const { log, folder } = await driveChurn(containerd, settings);
  const ownWords = new Map<string, OwnWords>();
  for (const { key } of log.containers) ownWords.set(key, await readOwnWords(folder, key));
  const { events, looks } = source;
  const evidence: Evidence = { log, ownWords, events, originMs, ...(looks === undefined ? {} : { looks }) };
  const deadline = wallMs() + LAST_EVENTS_MS;
  while (judge(evidence).failures.length > 0 && wallMs() < deadline) await sleep(500);
  await sleep(QUIET_MS);
  const verdict = judge(evidence);
  return {
    title: `${mode} on containerd ${containerd.packageVersion}, ${through === 'watch' ? 'podloop watch' : 'library'}`,
    containerd: containerd.packageVersion,
    mode,
    through,
    settings,
    kills: log.outages.length,
    events: events.length,
    verdict,
    said: source.tellMore(verdict.failures.flatMap(({ podUid }) => podUid ?? [])),
  };
}
