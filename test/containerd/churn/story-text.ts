import { type Evidence } from './evidence.js';
import { formatEvent, type SeenEvent } from './seen-event.js';
import { formatMs, type ContainerStory, type SandboxStory } from './story.js';

/** Everything known about one container, for whoever has to find out why it was judged wrong. */
export function tellContainer(
  evidence: Evidence,
  story: ContainerStory,
  events: readonly SeenEvent[],
): string {
  const { originMs, ownWords } = evidence;
  const at = (timeMs: number | undefined): string => formatMs(timeMs, originMs);
  const own = ownWords.get(story.key);
  const { verdict } = story;
  return [
    `container ${story.key} (${story.id}) of pod ${story.podUid}, ${story.removalClass}, ${JSON.stringify(story.ending)}`,
    `  create ${at(story.createCalledMs)} answered ${at(story.createdMs)}; start ${at(story.startCalledMs)} answered ${at(story.startedMs)}`,
    `  own words: start ${at(own?.startMs)}, end ${at(own?.endMs)} with ${own?.exitCode ?? 'no code'}`,
    `  killed ${at(story.killedMs)}, seen dead ${at(story.seenDeadMs)}, removal ${at(story.removalCalledMs)}, gone ${at(story.removedMs)}`,
    `  runtime: ${verdict === undefined ? 'not asked' : `${verdict.state} ${verdict.exitCode} ${verdict.reason} ${at(verdict.finishedAtMs)}`}`,
    ...tellRest(evidence, story, events),
  ].join('\n');
}

/** The same of one sandbox. */
export function tellSandbox(evidence: Evidence, story: SandboxStory, events: readonly SeenEvent[]): string {
  const at = (timeMs: number | undefined): string => formatMs(timeMs, evidence.originMs);
  return [
    `sandbox ${story.podName} (${story.id}) of pod ${story.podUid}, ${story.removalClass}`,
    `  run ${at(story.runCalledMs)} answered ${at(story.runningMs)}; stop ${at(story.stopCalledMs)}`,
    `  removal ${at(story.removalCalledMs)}, gone ${at(story.removedMs)}`,
    ...tellRest(evidence, story, events),
  ].join('\n');
}

function tellRest(
  { originMs, log, looks }: Evidence,
  story: ContainerStory | SandboxStory,
  events: readonly SeenEvent[],
): string[] {
  const outages = log.outages.map(
    ({ fromMs, untilMs }) => `${formatMs(fromMs, originMs)}…${formatMs(untilMs, originMs)}`,
  );
  const near = looks?.filter(
    ({ podUid, untilMs }) =>
      (podUid === undefined || podUid === story.podUid) && untilMs >= (story.removalCalledMs ?? 0) - 4_000,
  );
  return [
    ...story.notes.map((note) => `  note: ${note}`),
    `  events: ${events.map((event) => formatEvent(event, originMs)).join('; ') || 'none'}`,
    `  outages: ${outages.join(', ') || 'none'}`,
    `  looks near its removal: ${
      (near ?? [])
        .slice(0, 8)
        .map(({ fromMs, untilMs }) => `${formatMs(fromMs, originMs)}…${formatMs(untilMs, originMs)}`)
        .join(', ') || 'unknown'
    }`,
  ];
}
