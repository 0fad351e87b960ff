import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type V1PodStatus } from '../../../src/model/v1-pod-status.js';
import { untilAborted } from '../../../src/util/until-aborted.js';
import { type Story } from './story.js';

/** A node on which stories are played: whatever keeps the manifests of a folder running. */
export interface StoryNode {
  readonly manifestFolder: string;
  /** Every status of the pod of that manifest name from now on, in order; undefined when it is gone. */
  follow(podName: string): AsyncIterable<V1PodStatus | undefined>;
  /** `Warning BackOff` and the like, of that pod, so far. */
  eventsOf(podName: string): readonly string[];
  /** Kills the container's program with SIGKILL. */
  kill(podName: string, container: string): Promise<void>;
}

/** What became of a story: empty when all came as it says. */
export interface StoryOutcome {
  readonly problems: readonly string[];
  /** Statuses as they came, one line each, for whoever looks into a failure. */
  readonly seen: readonly string[];
}

/**
 * Puts the manifest down, does what the story says as soon as what comes before it was seen, and ends once everything
 * was seen or the signal aborts. The manifest stays.
 */
export async function playStory(story: Story, node: StoryNode, signal: AbortSignal): Promise<StoryOutcome> {
  const podName = /name: ([\w-]+)/.exec(story.manifest)![1]!;
  const file = join(node.manifestFolder, `${story.name}.yaml`);
  const seen: string[] = [];
  const problems: string[] = [];
  let manifest = story.manifest;
  const statuses = node.follow(podName)[Symbol.asyncIterator]();
  await writeFile(file, manifest);
  let current: V1PodStatus | undefined;
  let next: Promise<IteratorResult<V1PodStatus | undefined>> | undefined;
  const aborted = untilAborted(signal).then(() => 'aborted' as const);
  /** The next status, or `aborted`. */
  const advance = async (): Promise<'aborted' | undefined> => {
    next ??= statuses.next();
    const result = await Promise.race([next, aborted]);
    if (result === 'aborted') return 'aborted';
    next = undefined;
    current = result.value as V1PodStatus | undefined;
    const line = describe(current);
    if (line !== seen.at(-1)) seen.push(line);
    for (const { text, condition } of story.never) {
      if (current !== undefined && condition(current)) problems.push(`never: ${text}`);
    }
    return undefined;
  };
  for (const step of story.steps) {
    switch (step.kind) {
      case 'remove':
        await rm(file);
        break;
      case 'edit':
        if (!manifest.includes(step.from)) throw new Error(`${story.name} does not contain ${step.from}`);
        manifest = manifest.replaceAll(step.from, step.to);
        await writeFile(file, manifest);
        break;
      case 'kill':
        await node.kill(podName, step.container);
        break;
      case 'expect':
      case 'gone': {
        const holds = (): boolean =>
          step.kind === 'gone' ? current === undefined : current !== undefined && step.condition(current);
        while (!holds()) {
          if ((await advance()) === 'aborted') {
            const text = step.kind === 'gone' ? 'gone' : step.text;
            return { problems: [...problems, `in vain expected: ${text}`], seen };
          }
        }
        break;
      }
    }
  }
  const told = node.eventsOf(podName);
  for (const event of story.events) if (!told.includes(event)) problems.push(`no event: ${event}`);
  return { problems, seen };
}

function describe(status: V1PodStatus | undefined): string {
  if (status === undefined) return 'gone';
  const containers = [...(status.initContainerStatuses ?? []), ...status.containerStatuses];
  const words = containers.map(({ name, state, restartCount, ready, started }) => {
    const { waiting, running, terminated } = state;
    const what =
      running !== undefined
        ? 'running'
        : (waiting?.reason ?? `${terminated?.reason ?? '?'}(${terminated?.exitCode ?? '?'})`);
    return `${name}=${what}x${restartCount}${ready ? ' ready' : ''}${started ? ' started' : ''}`;
  });
  const reason = status.reason === undefined ? '' : ` ${status.reason}`;
  return `${status.phase}${reason}: ${words.join(', ')}`;
}
