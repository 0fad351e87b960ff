import { setMaxListeners } from 'node:events';
import { mkdir, mkdtemp, readdir, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type AgentOptions } from '../../../src/node/options/agent-options.js';
import { messageOf } from '#base/errors/errors.js';
import { findMountOf, readOwnMounts } from '#base/proc/mountinfo.js';
import { AgentNode } from './agent-node.js';
import { findForbidden, playStory, type StoryOutcome } from './play-story.js';
import { StatusHistory } from './status-history.js';
import { readStory, type Story } from './story.js';
import { patiently } from '#support/patience.js';

/** A runtime that has the image of the stories. */
export interface StoryRuntime {
  readonly endpoint: string;
  /** What its agent has to be configured with. */
  readonly agent?: Partial<AgentOptions>;
  /** Ends it, after the last pod is gone; rejects when something of a pod is left. */
  end(): Promise<void>;
}

/** What stories count on of their node. */
const AGENT = {
  // Each story is a pod.
  maxPods: 500,
  stopPods: true,
  clusterDomain: 'cluster.test',
  allowedUnsafeSysctls: ['net.core.*'],
} as const;

const FOLDER = new URL('../../stories/', import.meta.url);
/**
 * All pods live at the same time; on an idle machine the slowest story takes 13 seconds, a back-off and its like. A
 * machine that is busy must not fail a story, a hang must.
 */
export const STORY_LIMIT_MS = patiently(Number(process.env['PODLOOP_STORY_SECONDS'] ?? 480) * 1_000);

/** Only those whose names begin so, such as `40,41`; all of them unless told. */
const ONLY = process.env['PODLOOP_STORY']?.split(',') ?? [''];

/** Whether what is mounted in the folders of pods spreads at all. */
const hasSharedMounts = findMountOf(await readOwnMounts(), await realpath(tmpdir()))?.shared === true;

const names = (await readdir(FOLDER))
  .filter((name) => name.endsWith('.yaml') && ONLY.some((prefix) => name.startsWith(prefix)))
  .sort();
const stories = await Promise.all(names.map(async (name) => readStory(new URL(name, FOLDER).pathname)));

/** What few machines have: stories that need it are played only where somebody says that it is there. */
const RARE = ['app-armor', 'image-volumes'];

/** What {@link defineStoryTests} may be given beside the runtime. */
export interface StoryOptions {
  /** Of what is rare, such as `app-armor`, which takes a profile that the kernel has loaded. */
  readonly has?: readonly string[];
  /** Changes manifests before they are played, where the runtime lacks the stories' image. */
  readonly toManifest?: (manifest: string) => string;
}

/**
 * One test for each story, all of them played at once by one agent; to be called inside of a `describe`.
 *
 * @param lacks what stories may need and the machine does not have: those that do are skipped.
 */
export function defineStoryTests(
  start: (folder: string) => Promise<StoryRuntime>,
  lacks: readonly string[] = [],
  { has = [], toManifest = (manifest) => manifest }: StoryOptions = {},
): void {
  const lacksAll = [
    ...lacks,
    ...RARE.filter((each) => !has.includes(each)),
    ...(hasSharedMounts ? [] : ['shared-mounts']),
  ];
  const isPlayed = ({ needs }: Story): boolean => !needs.some((each) => lacksAll.includes(each));
  const toNodeName = (podName: string): string => `${podName}-test`;
  let history: StatusHistory;
  const outcomes = new Map<string, Promise<StoryOutcome>>();
  const ends: (() => Promise<void>)[] = [];

  beforeAll(async () => {
    history = new StatusHistory();
    const folder = await mkdtemp(join(tmpdir(), 'podloop-stories-'));
    ends.unshift(() => rm(folder, { recursive: true, force: true }));
    const runtime = await start(folder);
    ends.unshift(() => runtime.end());
    await writeSeccompProfile(join(folder, 'node'));
    const node = await AgentNode.start({
      folder,
      endpoint: runtime.endpoint,
      agent: { ...AGENT, ...runtime.agent },
    });
    ends.unshift(() => node.stop());
    const signal = AbortSignal.timeout(STORY_LIMIT_MS);
    // Every story waits on it; that is no leak.
    setMaxListeners(0, signal);
    for (const each of stories.filter(isPlayed)) {
      const story = { ...each, manifest: toManifest(each.manifest) };
      outcomes.set(story.name, playStory(story, { node, history, toNodeName, signal }));
    }
  }, STORY_LIMIT_MS);

  afterAll(async () => {
    history[Symbol.dispose]();
    const errors: unknown[] = [];
    for (const end of ends) await end().catch((error: unknown) => errors.push(error));
    if (errors.length > 0) throw new AggregateError(errors, errors.map(messageOf).join('; '));
  }, STORY_LIMIT_MS);

  for (const story of stories) {
    it.runIf(isPlayed(story))(`the pod of ${story.name} lives as it is told there`, async () => {
      const { problems, timeline } = await outcomes.get(story.name)!;
      // What is never to be is not to come later either, while the others are still played.
      await Promise.all(outcomes.values());
      const forbidden = findForbidden(story, history.of(toNodeName(story.podName)));
      expect([...problems, ...forbidden], `\n${timeline.join('\n')}\n`).toEqual([]);
    });
  }
}

/** A filter of the node's own, for a story that is to find it there. */
async function writeSeccompProfile(rootDir: string): Promise<void> {
  const folder = join(rootDir, 'seccomp', 'podloop');
  await mkdir(folder, { recursive: true });
  const refused = { names: ['mkdir', 'mkdirat'], action: 'SCMP_ACT_ERRNO' };
  const profile = { defaultAction: 'SCMP_ACT_ALLOW', syscalls: [refused] };
  await writeFile(join(folder, 'no-mkdir.json'), JSON.stringify(profile));
}
