import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { EmbeddedRuntime } from '../../src/embedded/index.js';
import { AgentNode } from './pod-stories/agent-node.js';
import { playStory, type StoryOutcome } from './pod-stories/play-story.js';
import { readStory, type Story } from './pod-stories/story.js';
import { writeProgramImage } from './program-image.js';

/** Where it runs apart from everything, so that pods have files, mounts and addresses of their own. */
const isRoot = process.getuid?.() === 0;
const FOLDER = new URL('../stories/', import.meta.url);
/** All pods live at the same time; the slowest story waits for two back-offs and their like. */
const LIMIT_MS = 240_000;

const names = (await readdir(FOLDER)).filter((name) => name.endsWith('.yaml')).sort();
const stories = await Promise.all(names.map(async (name) => readStory(new URL(name, FOLDER).pathname)));

describe.skipIf(!isRoot)('on the embedded runtime', { timeout: LIMIT_MS + 60_000 }, () => {
  let folder: string;
  let runtime: EmbeddedRuntime;
  let node: AgentNode;
  const outcomes = new Map<string, Promise<StoryOutcome>>();

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'podloop-stories-'));
    const images = join(folder, 'images');
    await writeProgramImage(images);
    const listen = `unix://${folder}/cri.sock`;
    runtime = await EmbeddedRuntime.start({
      ...{ listen, rootDir: join(folder, 'runtime'), imageDirs: [images] },
      ...{ isolation: 'namespaces', network: 'bridge' },
    });
    node = await AgentNode.start({ folder, endpoint: listen, agent: { stopPods: true } });
    const limit = AbortSignal.timeout(LIMIT_MS);
    for (const story of stories) outcomes.set(story.name, playStory(story, node, limit));
  }, LIMIT_MS);

  afterAll(async () => {
    await node.stop();
    expect(runtime.podCount).toBe(0);
    await runtime.close();
    await rm(folder, { recursive: true, force: true });
  }, LIMIT_MS);

  it.each(stories.map((story): [string, Story] => [story.name, story]))(
    'the pod of %s lives as it is told there',
    async (name) => {
      const { problems, seen } = await outcomes.get(name)!;
      expect(problems, seen.join('\n')).toEqual([]);
    },
  );
});
