import { describe, expect, it } from 'vitest';

import { type Evidence } from './evidence.js';
import { judge } from './judge.js';
import { type SeenEvent } from './seen-event.js';
import { type ContainerStory, type OwnWords } from './story.js';

const ID = 'c1';
const FINISHED_MS = 20_000;

/** A container that ran from 10 s to 20 s, exited with 3 and was removed at 23 s. */
function story(changes: Partial<ContainerStory> = {}): ContainerStory {
  return {
    key: 'k',
    podName: 'p',
    podUid: 'uid',
    ending: { by: 'exit', afterMs: 10_000, code: 3 },
    removalClass: 'settled',
    id: ID,
    createCalledMs: 9_000,
    createdMs: 9_100,
    startCalledMs: 9_900,
    startedMs: 10_000,
    seenDeadMs: 20_100,
    verdict: { state: 'exited', exitCode: 3, reason: 'Error', finishedAtMs: FINISHED_MS },
    removalCalledMs: 23_000,
    removedMs: 23_100,
    notes: [],
    ...changes,
  };
}

function event(type: string, atMs: number, exitCode?: number): SeenEvent {
  const trigger = 'relist';
  return {
    atMs,
    type,
    kind: 'container',
    podUid: 'uid',
    containerId: ID,
    exitCode,
    reason: undefined,
    trigger,
    folded: 0,
  };
}

const STARTED = event('ContainerStarted', 10_500);
const DIED = event('ContainerDied', 20_500, 3);
const REMOVED = event('ContainerRemoved', 23_500);
const OWN_WORDS: OwnWords = { startMs: 10_000, endMs: 19_999, exitCode: 3 };

function problems(
  events: readonly SeenEvent[],
  changes: Partial<ContainerStory> = {},
  rest: Partial<Evidence> = {},
): string[] {
  const looks = Array.from({ length: 30 }, (_, second) => ({
    fromMs: second * 1_000 + 400,
    untilMs: second * 1_000 + 410,
    podUid: undefined,
  }));
  const log = { containers: [story(changes)], sandboxes: [], outages: [] };
  const ownWords = new Map([['k', OWN_WORDS]]);
  return judge({ log, ownWords, events, looks, originMs: 0, ...rest }).failures.map(({ problem }) => problem);
}

describe('the judge of the churn test', () => {
  it('has nothing to say of started, died with the right code, removed', () => {
    expect(problems([STARTED, DIED, REMOVED])).toEqual([]);
  });

  it('misses what is missing', () => {
    expect(problems([STARTED, REMOVED])).toEqual(['ContainerDied is missing']);
    expect(problems([])).toContain('ContainerDied is missing');
    expect(problems([STARTED, DIED])).toEqual(['ContainerRemoved is missing']);
    expect(problems([DIED, REMOVED])).toEqual([
      'ContainerStarted is missing, though it ran while somebody looked',
    ]);
  });

  it('sees what comes twice, or out of order', () => {
    expect(problems([STARTED, DIED, DIED, REMOVED])).toContain('ContainerDied came 2 times');
    expect(problems([STARTED, STARTED, DIED, REMOVED])).toContain('ContainerStarted came 2 times');
    expect(problems([DIED, STARTED, REMOVED])).toContain('the events are out of order');
  });

  it('misses events that stand folded in a PodSync, as for a slow reader', () => {
    const sync = { ...event('PodSync', 24_000), containerId: undefined };
    expect(problems([STARTED, DIED, REMOVED, sync])).toEqual([]);
    expect(problems([STARTED, DIED, REMOVED, { ...sync, folded: 2 }])).toEqual(['a PodSync']);
  });

  it('knows the right exit code', () => {
    expect(problems([STARTED, event('ContainerDied', 20_500, 4), REMOVED])).toEqual([
      'ContainerDied has exit code 4, right is 3',
    ]);
    expect(problems([STARTED, event('ContainerDied', 20_500), REMOVED])).toEqual([
      'ContainerDied has no exit code',
    ]);
  });

  it('doubts a runtime that says what nobody intended, unless it was killed at the time', () => {
    const verdict = { state: 'exited', exitCode: 255, reason: 'Unknown', finishedAtMs: FINISHED_MS } as const;
    const died = event('ContainerDied', 20_500, 255);
    expect(problems([STARTED, died, REMOVED], { verdict })).toEqual([
      'the runtime itself says exited 255, not 3',
    ]);
    const outages = [{ fromMs: 19_000, untilMs: 20_000 }];
    const log = { containers: [story({ verdict })], sandboxes: [], outages };
    expect(problems([STARTED, died, REMOVED], {}, { log })).toEqual([]);
  });

  it('forgives an unseen life only where no look fell into it', () => {
    const early = { removalClass: 'early', verdict: undefined, removedMs: 12_000 } as const;
    expect(problems([], { ...early, createdMs: 9_500, startedMs: 9_600, removalCalledMs: 10_300 })).toEqual(
      [],
    );
    expect(problems([], { ...early, createdMs: 9_300, startedMs: 9_400, removalCalledMs: 10_300 })).toEqual([
      'ContainerDied is missing',
    ]);
  });

  it('takes an end that the runtime lost to be when the container itself says, and not when the runtime was back', () => {
    const outages = [{ fromMs: 10_050, untilMs: 20_000 }];
    const verdict = { state: 'exited', exitCode: 255, reason: 'Unknown', finishedAtMs: 20_000 } as const;
    const log = { containers: [story({ verdict })], sandboxes: [], outages };
    const events = [event('ContainerDied', 20_500, 255), REMOVED];
    const ended = (endMs: number) => new Map([['k', { startMs: 10_000, endMs, exitCode: 3 }]]);
    expect(problems(events, {}, { log, ownWords: ended(10_040) })).toEqual([]);
    expect(problems(events, {}, { log, ownWords: ended(19_000) })).toEqual([
      'ContainerStarted is missing, though it ran while somebody looked',
    ]);
  });

  it('reports events of containers that nobody made', () => {
    const stranger = { ...DIED, containerId: 'other' };
    expect(problems([STARTED, DIED, REMOVED, stranger])).toEqual(['events of the unknown container other']);
  });
});
