import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { isTerminalPhase } from '#kube/pod/v1-pod-status.js';
import { messageOf } from '#base/errors/errors.js';
import { describeStatus } from './describe-status.js';
import { type SeenStatus, type StatusHistory } from './status-history.js';
import { type Story, type StoryStep } from './story.js';

/** How often a log is looked at: nobody says when a container writes. */
const LOG_PERIOD_MS = 50;
/** A runtime may tell of an end a little before the last lines are written. */
const TRIES_AFTER_END = 10;

/** A node on which stories are played: whatever keeps the manifests of a folder running. */
export interface StoryNode {
  readonly manifestFolder: string;
  /** `Warning BackOff: its message` and the like, of that pod, so far. */
  eventsOf(podName: string): readonly string[];
  /** What the container wrote to its log so far, in all its lives, line by line. */
  logOf(podName: string, container: string): Promise<readonly string[]>;
  /** Kills the container's program with SIGKILL. */
  kill(podName: string, container: string, signal: AbortSignal): Promise<void>;
  /** Runs a shell script in the container; rejects unless it ends with 0. */
  execute(podName: string, container: string, script: string, signal: AbortSignal): Promise<void>;
}

/** Where, and for how long, stories are played. */
export interface Stage {
  readonly node: StoryNode;
  readonly history: StatusHistory;
  /** The name under which the node has the pod of that manifest. */
  readonly toNodeName: (podName: string) => string;
  /** What has not come by then is in vain waited for. */
  readonly signal: AbortSignal;
}

/** What became of a story: no problem when all came as it says. */
export interface StoryOutcome {
  readonly problems: readonly string[];
  /** Each status and each line of the story as it came, with seconds since the start. */
  readonly timeline: readonly string[];
}

/**
 * Puts the manifest down, does what the story says as soon as what comes before it was seen, and ends once everything
 * was seen or the signal aborts. The manifest stays. Never rejects.
 */
export async function playStory(story: Story, stage: Stage): Promise<StoryOutcome> {
  const play = new Play(story, stage);
  const problems: string[] = [];
  try {
    await play.put();
    for (const step of story.steps) await play.take(step);
  } catch (error) {
    problems.push(messageOf(error));
  }
  const isWell = problems.length === 0;
  for (const event of story.events) {
    if (!(await play.isTold(event, isWell))) problems.push(`no event: ${event}`);
  }
  const told = stage.node.eventsOf(story.podName);
  return { problems, timeline: [...play.timeline, `events: ${[...new Set(told)].join(', ')}`] };
}

/** What the story says can never be, and was. */
export function findForbidden({ never }: Story, seen: readonly SeenStatus[]): string[] {
  const isSeen = (condition: Story['never'][number]['condition']): boolean =>
    seen.some(({ status }) => status !== undefined && condition(status));
  return never.filter(({ condition }) => isSeen(condition)).map(({ text }) => `never: ${text}`);
}

class Play {
  readonly timeline: string[] = [];
  readonly #story: Story;
  readonly #stage: Stage;
  readonly #file: string;
  readonly #startedMs = performance.now();
  readonly #allowed: string[] = [];
  #manifest: string;
  #read = 0;
  #current: SeenStatus | undefined;

  constructor(story: Story, stage: Stage) {
    this.#story = story;
    this.#stage = stage;
    this.#file = join(stage.node.manifestFolder, `${story.name}.yaml`);
    this.#manifest = story.manifest;
  }

  async put(): Promise<void> {
    this.#say('the manifest is put down');
    await writeFile(this.#file, this.#manifest);
  }

  async take(step: StoryStep): Promise<void> {
    const { node, signal } = this.#stage;
    const { name, podName } = this.#story;
    if (!['may', 'expect', 'gone', 'log'].includes(step.kind)) {
      this.#say(`do: ${JSON.stringify(step)}`);
    }
    switch (step.kind) {
      case 'may':
        this.#allowed.push(step.text);
        return;
      case 'expect':
        return this.#expect(step.text, ({ status }) => status !== undefined && step.condition(status));
      case 'gone':
        return this.#expect('gone', ({ status }) => status === undefined);
      case 'log':
        return this.#expectLine(step.container, step.line);
      case 'remove':
        return rm(this.#file);
      case 'put back':
        return this.put();
      case 'edit':
        if (!this.#manifest.includes(step.from)) throw new Error(`${name} does not contain ${step.from}`);
        this.#manifest = this.#manifest.replaceAll(step.from, step.to);
        return writeFile(this.#file, this.#manifest);
      case 'kill':
        return node.kill(podName, step.container, signal);
      case 'execute':
        return node.execute(podName, step.container, step.script, signal);
    }
  }

  /** Looks at the current status and then at each one that came after it, until one holds. */
  async #expect(text: string, holds: (seen: SeenStatus) => boolean): Promise<void> {
    const { history, signal, toNodeName } = this.#stage;
    while (this.#current === undefined || !holds(this.#current)) {
      const next = history.of(toNodeName(this.#story.podName))[this.#read];
      if (next !== undefined) {
        this.#read++;
        this.#current = next;
        this.#say(`  ${describeStatus(next.status)}`, next.atMs);
      } else if (signal.aborted) {
        const allowed = this.#allowed.map((each) => ` (before it may come: ${each})`).join('');
        throw new Error(`in vain expected: ${text}${allowed}`);
      } else {
        await history.next(signal);
      }
    }
    this.#allowed.length = 0;
    this.#say(`as expected: ${text}`);
  }

  /** The line is there now, or comes while the pod lives. */
  async #expectLine(container: string, line: string): Promise<void> {
    const { node, signal } = this.#stage;
    const name = `${container} says ${JSON.stringify(line)}`;
    for (let tries = 0; ;) {
      if (this.#hasEnded()) tries++;
      const lines = await node.logOf(this.#story.podName, container);
      if (lines.includes(line)) {
        this.#say(`as expected: ${name}`);
        return;
      }
      if (tries > TRIES_AFTER_END || signal.aborted) {
        for (const each of lines) this.#say(`  ${container}: ${each}`);
        throw new Error(`in vain expected: ${name}`);
      }
      await setTimeout(LOG_PERIOD_MS, undefined, { signal }).catch(() => undefined);
    }
  }

  /** Perhaps only later: no status comes with it. */
  async isTold(event: string, waits: boolean): Promise<boolean> {
    const { node, signal } = this.#stage;
    const start = event.includes(': ') ? event : `${event}:`;
    for (;;) {
      if (node.eventsOf(this.#story.podName).some((each) => each === event || each.startsWith(start))) {
        return true;
      }
      if (!waits || signal.aborted) return false;
      await setTimeout(LOG_PERIOD_MS, undefined, { signal }).catch(() => undefined);
    }
  }

  #hasEnded(): boolean {
    const { history, toNodeName } = this.#stage;
    const last = history.of(toNodeName(this.#story.podName)).at(-1);
    return last !== undefined && (last.status === undefined || isTerminalPhase(last.status.phase));
  }

  #say(text: string, atMs = performance.now()): void {
    const seconds = ((atMs - this.#startedMs) / 1000).toFixed(2).padStart(7);
    this.timeline.push(`${seconds} s  ${text}`);
  }
}
