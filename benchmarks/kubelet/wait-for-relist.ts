import { setTimeout as sleep } from 'node:timers/promises';
import { type PlegReport } from '#kube/node/pleg-report.js';
import { readPage } from '../agents/read-page.js';
import { type AgentProcess } from './agent-process.js';

/** Of podloop's; a kubelet has none like it. */
export const GENERATOR_PAGE = '/debug/pleg';
/** A kubelet relists each second, with events on every five minutes, and tells nobody when. */
const LEAST_MS = 3_000;
/** podloop relists once a minute at least, and a relist takes a while. */
const MAX_MS = 75_000;
const POLL_MS = 250;
/** For what a relist has found to be in the log. */
const LOG_MS = 500;

/** Until an agent that says when it relists has looked at all pods once more; for a few seconds with others. */
export async function waitForRelist(
  agent: Pick<AgentProcess, 'check' | 'health'>,
  signal: AbortSignal,
): Promise<void> {
  const sinceMs = Date.now();
  await sleep(LEAST_MS, undefined, { signal });
  agent.check();
  if ((await readPage(agent.health, GENERATOR_PAGE, signal)) === undefined) return;
  while (Date.now() - sinceMs < MAX_MS) {
    const page = await readPage(agent.health, GENERATOR_PAGE, signal);
    if (page !== undefined && hasRelisted(page, sinceMs)) break;
    await sleep(POLL_MS, undefined, { signal });
    agent.check();
  }
  await sleep(LOG_MS, undefined, { signal });
}

/** Whether the report of a generator, as JSON, has a look at all pods that began since then and went well. */
export function hasRelisted(page: string, sinceMs: number): boolean {
  const { relists } = JSON.parse(page) as Pick<PlegReport, 'relists'>;
  return relists.history.some(({ startedAtMs, error }) => startedAtMs >= sinceMs && error === undefined);
}
