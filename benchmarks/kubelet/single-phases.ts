import { setTimeout as sleep } from 'node:timers/promises';
import { NODE_NAME, podNameOf, toMs } from './bench-node.js';
import {
  addUp,
  countRepeated,
  type DeathFigures,
  followDeaths,
  type FollowedDeaths,
  type PhaseContext,
} from './follow-deaths.js';
import { waitForRelist } from './wait-for-relist.js';

/** Only to see that it is there: the runtime's own records say when. */
const POLL_MS = 50;
const WAIT_MS = 30_000;

/** A new pod each time: from just before its manifest is in the folder to the runtime's record of its start. */
export async function measurePodStarts(
  { node, agent, random, signal }: PhaseContext,
  count: number,
): Promise<number[]> {
  const startsMs: number[] = [];
  for (let at = 0; at < count; at++) {
    await sleep(1_000 + 1_000 * random(), undefined, { signal });
    const name = `single-${at}`;
    const writtenMs = await node.writeManifest(name);
    const check = (): void => agent.check();
    const running = await node.untilRunning({ count: at + 1, waitMs: WAIT_MS, signal, check });
    const started = running.find((each) => podNameOf(each) === `${name}-${NODE_NAME}`);
    if (started === undefined) throw new Error(`something runs, but not ${name}`);
    startsMs.push(toMs((await node.statusOf(started.id)).startedAt) - writtenMs);
  }
  return startsMs;
}

/** Kills the process of one container after the other, each for the first time: no back-off holds any of them. */
export async function measureDeaths(context: PhaseContext): Promise<DeathFigures> {
  const { node, agent, random, signal } = context;
  const followed: FollowedDeaths[] = [];
  for (const target of await node.targets()) {
    await sleep(1_500 + 1_000 * random(), undefined, { signal });
    followed.push(await followDeaths(context, [target], { waitMs: WAIT_MS, pollMs: POLL_MS }));
  }
  await waitForRelist(agent, signal);
  return countRepeated(addUp(followed), agent.events);
}
