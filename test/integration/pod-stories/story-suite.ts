import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { AgentNode } from './agent-node.js';
import { playStory, type StoryOutcome } from './play-story.js';
import { readStory, type Story } from './story.js';

/** A runtime that has the image of the stories. */
export interface StoryRuntime {
  readonly endpoint: string;
  /** Ends it, after the last pod is gone; rejects when something of a pod is left. */
  end(): Promise<void>;
}

const FOLDER = new URL('../../stories/', import.meta.url);
/** All pods live at the same time; the slowest story waits for two back-offs and their like. */
export const STORY_LIMIT_MS = 120_000;

const names = (await readdir(FOLDER)).filter((name) => name.endsWith('.yaml')).sort();
const stories = await Promise.all(names.map(async (name) => readStory(new URL(name, FOLDER).pathname)));

/**
 * Whether the stories are asked for: `npm run test:full` plays them. Some of them tell of states that last a moment,
 * which a reader of statuses, who is given the newest, can miss on a busy machine.
 */
export const PLAYS_STORIES = process.env['PODLOOP_STORIES'] !== undefined;

/** One test for each story, all of them played at once by one agent; to be called inside of a `describe`. */
export function defineStoryTests(start: (folder: string) => Promise<StoryRuntime>): void {
  let folder: string;
  let runtime: StoryRuntime;
  let node: AgentNode;
  const outcomes = new Map<string, Promise<StoryOutcome>>();

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'podloop-stories-'));
    runtime = await start(folder);
    node = await AgentNode.start({ folder, endpoint: runtime.endpoint, agent: { stopPods: true } });
    const limit = AbortSignal.timeout(STORY_LIMIT_MS);
    for (const story of stories) outcomes.set(story.name, playStory(story, node, limit));
  }, STORY_LIMIT_MS);

  afterAll(async () => {
    await node.stop();
    await runtime.end();
    await rm(folder, { recursive: true, force: true });
  }, STORY_LIMIT_MS);

  it.each(stories.map((story): [string, Story] => [story.name, story]))(
    'the pod of %s lives as it is told there',
    async (name) => {
      const { problems, seen } = await outcomes.get(name)!;
      expect(problems, seen.join('\n')).toEqual([]);
    },
  );
}
