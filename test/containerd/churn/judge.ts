/**
 * Holds the generator's events against what really happened.
 *
 * In: the driver's log, the containers' own words, the events, and when the generator looked. Out: every deviation
 * with the whole story of the container, and the counts. Pure.
 *
 * The rules, for each container that the driver removed only after it had been dead for three seconds:
 * exactly one ContainerDied with the right exit code, exactly one ContainerRemoved, ContainerStarted once (it may be
 * absent when no look fell between start and end), in that order. The right code is the one that the runtime itself gave
 * before the removal, and that one must be what the container announced or what the driver's kill makes of it. For
 * containers that were removed at once, an event may be absent where no look saw the container, and the code where
 * its status was gone; what is there must be right all the same. Nothing may come twice, ever.
 *
 * @module
 */
import { hasLookWithin, type Look } from './looks.js';
import { formatEvent, type SeenEvent } from './seen-event.js';
import {
  formatMs,
  type ChurnLog,
  type ContainerStory,
  type Outage,
  type OwnWords,
  type SandboxStory,
} from './story.js';

/** A container that is gone within this time may never have been seen, if nobody knows when the looks were. */
const UNSEEN_MS = 2_500;
/** containerd needs a moment to write down how a container ended: what ended shortly before its death may be lost. */
const BEFORE_OUTAGE_MS = 2_000;
/** How long after an outage things may still be late. */
const AFTER_OUTAGE_MS = 2_000;
/** What containerd says of a container whose end it lost, and of one that it could not start. */
const CODES_OF_FAILURE = [255, 128];

/** Everything that is judged. */
export interface Evidence {
  readonly log: ChurnLog;
  readonly ownWords: ReadonlyMap<string, OwnWords>;
  readonly events: readonly SeenEvent[];
  /** Absent when nobody could see when the generator looked. */
  readonly looks?: readonly Look[];
  /** The start of the run: times in the stories are told from here. */
  readonly originMs: number;
}

/** One thing that is wrong, and everything known about it. */
export interface Failure {
  readonly problem: string;
  readonly story: string;
}

/** How often things were seen. */
export interface Counts {
  containers: number;
  settled: number;
  early: number;
  /** Created, and never started: containerd was killed under the call, or the pod ended first. */
  neverStarted: number;
  sandboxes: number;
  diedWithCode: number;
  /** Of the class that is removed at once: died, and the status was gone. */
  earlyDiedWithoutCode: number;
  /** Lives that fell between two looks: no event at all. */
  betweenLooksSettled: number;
  betweenLooksEarly: number;
  /** Started and ended between two looks: no ContainerStarted. */
  startBetweenLooks: number;
  /** containerd itself lost how the container ended (255), or could not start it (128). */
  codeLostByRuntime: number;
  /** containerd was killed while it started the container, and never knew that it ran. */
  forgottenByRuntime: number;
  /** Creations that were cut off by containerd's death. */
  createsCutOff: number;
  folded: number;
}

/** What {@link judge} finds. */
export interface Verdict {
  readonly failures: readonly Failure[];
  readonly counts: Counts;
  /** From the runtime's own time of the end to the event, milliseconds, ascending; outages left out. */
  readonly deathLatenciesMs: readonly number[];
}

/** Judges one run. */
export function judge(evidence: Evidence): Verdict {
  return new Judgement(evidence).conclude();
}

class Judgement {
  readonly #evidence: Evidence;
  readonly #eventsById = new Map<string, SeenEvent[]>();
  readonly #failures: Failure[] = [];
  readonly #latencies: number[] = [];
  readonly #counts: Counts = {
    containers: 0,
    settled: 0,
    early: 0,
    neverStarted: 0,
    sandboxes: 0,
    diedWithCode: 0,
    earlyDiedWithoutCode: 0,
    betweenLooksSettled: 0,
    betweenLooksEarly: 0,
    startBetweenLooks: 0,
    codeLostByRuntime: 0,
    forgottenByRuntime: 0,
    createsCutOff: 0,
    folded: 0,
  };

  constructor(evidence: Evidence) {
    this.#evidence = evidence;
    for (const event of evidence.events) {
      if (event.containerId === undefined) {
        this.#judgeOther(event);
        continue;
      }
      const sameId = this.#eventsById.get(event.containerId);
      if (sameId === undefined) this.#eventsById.set(event.containerId, [event]);
      else sameId.push(event);
    }
  }

  conclude(): Verdict {
    const { containers, sandboxes } = this.#evidence.log;
    for (const story of containers) this.#judgeContainer(story);
    for (const story of sandboxes) this.#judgeSandbox(story);
    this.#judgeStrangers();
    return {
      failures: this.#failures,
      counts: this.#counts,
      deathLatenciesMs: this.#latencies.sort((a, b) => a - b),
    };
  }

  #judgeContainer(story: ContainerStory): void {
    const counts = this.#counts;
    if (story.notes.some((note) => note.startsWith('CreateContainer'))) counts.createsCutOff++;
    if (story.id === undefined) return;
    counts.containers++;
    counts[story.removalClass]++;
    const fail = (problem: string): void => this.#fail(problem, this.#tellContainer(story));
    const events = this.#eventsById.get(story.id) ?? [];
    this.#judgeOrder(events, fail);
    if (!this.#everRan(story)) {
      // It may be reported when it goes ("died, removed", without a code), as the kubelet's table has it.
      counts.neverStarted++;
      const codes = events.flatMap(({ exitCode }) => exitCode ?? []);
      const mayBeFailure = this.#runtimeMayHaveFailed(story);
      if (codes.some((code) => !mayBeFailure || !CODES_OF_FAILURE.includes(code))) {
        fail('an exit code of what never ran');
      }
      return;
    }
    const died = events.find(({ type }) => type === 'ContainerDied');
    if (died === undefined) this.#judgeAbsence(story, fail);
    else this.#judgeDeath(story, died, fail);
    if (died !== undefined && !events.some(({ type }) => type === 'ContainerRemoved')) {
      fail('ContainerRemoved is missing');
    }
    if (!events.some(({ type }) => type === 'ContainerStarted')) this.#judgeUnseenStart(story, fail);
  }

  /**
   * What containerd's death cut off in its creation or start may be left created, or be called exited; it may even
   * have run to its end while containerd was away, and be called created for ever.
   */
  #everRan(story: ContainerStory): boolean {
    const { verdict, startCalledMs, startedMs } = story;
    if (verdict?.state === 'exited') return true;
    if (startCalledMs === undefined) return false;
    if (verdict?.state !== 'created' || startedMs !== undefined) return true;
    if (this.#evidence.ownWords.get(story.key)?.startMs !== undefined) this.#counts.forgottenByRuntime++;
    return false;
  }

  #judgeAbsence(story: ContainerStory, fail: (problem: string) => void): void {
    const fromMs = story.createdMs ?? story.startCalledMs ?? 0;
    if (this.#wasVisible(story, fromMs, story.removalCalledMs ?? Infinity)) {
      fail('ContainerDied is missing');
    } else if (story.removalClass === 'early') this.#counts.betweenLooksEarly++;
    else this.#counts.betweenLooksSettled++;
  }

  #judgeDeath(story: ContainerStory, died: SeenEvent, fail: (problem: string) => void): void {
    const { verdict, removalClass } = story;
    const announced = this.#codesByIntent(story);
    const runtimeMayHaveFailed = this.#runtimeMayHaveFailed(story);
    if (verdict !== undefined && !announced.includes(verdict.exitCode)) {
      if (verdict.state === 'exited' && runtimeMayHaveFailed && CODES_OF_FAILURE.includes(verdict.exitCode)) {
        this.#counts.codeLostByRuntime++;
      } else {
        fail(`the runtime itself says ${verdict.state} ${verdict.exitCode}, not ${announced.join(' or ')}`);
      }
    }
    if (died.exitCode === undefined) {
      if (removalClass === 'early') this.#counts.earlyDiedWithoutCode++;
      else fail('ContainerDied has no exit code');
      return;
    }
    const right =
      verdict === undefined
        ? [...announced, ...(runtimeMayHaveFailed ? CODES_OF_FAILURE : [])]
        : [verdict.exitCode];
    if (!right.includes(died.exitCode)) {
      fail(`ContainerDied has exit code ${died.exitCode}, right is ${right.join(' or ')}`);
      return;
    }
    this.#counts.diedWithCode++;
    if (verdict === undefined && !announced.includes(died.exitCode)) this.#counts.codeLostByRuntime++;
    if (verdict !== undefined && !this.#isNearOutage(verdict.finishedAtMs, died.atMs)) {
      this.#latencies.push(died.atMs - verdict.finishedAtMs);
    }
  }

  /** What the container announced, and what a KILL of the driver makes of it. */
  #codesByIntent(story: ContainerStory): number[] {
    const announced = this.#evidence.ownWords.get(story.key)?.exitCode;
    const codes = announced === undefined ? [] : [announced];
    if (story.killedMs !== undefined) codes.push(137);
    return codes;
  }

  /** Whether containerd was killed while it could have had to do with this container's start or end. */
  #runtimeMayHaveFailed(story: ContainerStory): boolean {
    const own = this.#evidence.ownWords.get(story.key);
    const cutOff = story.notes.some((note) => /^(Create|Start)Container/.test(note));
    if (own?.startMs === undefined && cutOff) return true;
    const ends = [own?.endMs, story.killedMs, story.verdict?.finishedAtMs];
    return ends.some((endMs) => endMs !== undefined && this.#isNearOutage(endMs, endMs + BEFORE_OUTAGE_MS));
  }

  #judgeUnseenStart(story: ContainerStory, fail: (problem: string) => void): void {
    this.#counts.startBetweenLooks++;
    if (story.startedMs === undefined || story.verdict === undefined) return;
    if (this.#wasVisible(story, story.startedMs, story.verdict.finishedAtMs)) {
      fail('ContainerStarted is missing, though it ran while somebody looked');
    }
  }

  #judgeSandbox(story: SandboxStory): void {
    if (story.id === undefined) return;
    this.#counts.sandboxes++;
    const events = this.#eventsById.get(story.id) ?? [];
    const fail = (problem: string): void => this.#fail(`sandbox: ${problem}`, this.#tellSandbox(story));
    this.#judgeOrder(events, fail);
    if (story.runningMs === undefined) return;
    for (const type of ['ContainerStarted', 'ContainerDied', 'ContainerRemoved']) {
      if (events.some((event) => event.type === type)) continue;
      const untilMs = type === 'ContainerStarted' ? story.stopCalledMs : story.removalCalledMs;
      if (this.#wasVisible(story, story.runningMs, untilMs ?? story.removalCalledMs ?? Infinity)) {
        fail(`${type} is missing`);
      }
    }
  }

  /** Once each, and in the order of life. */
  #judgeOrder(events: readonly SeenEvent[], fail: (problem: string) => void): void {
    const order = ['ContainerStarted', 'ContainerDied', 'ContainerRemoved'];
    const places = events.map(({ type }) => order.indexOf(type)).filter((place) => place >= 0);
    for (const [index, type] of order.entries()) {
      const times = places.filter((place) => place === index).length;
      if (times > 1) fail(`${type} came ${times} times`);
    }
    if (places.some((place, index) => place < (places[index - 1] ?? 0))) fail('the events are out of order');
  }

  /** Whether somebody must have seen it during that time. */
  #wasVisible(story: ContainerStory | SandboxStory, fromMs: number, untilMs: number): boolean {
    const { looks } = this.#evidence;
    if (looks !== undefined) {
      if (!hasLookWithin(looks, story.podUid, fromMs, untilMs)) return false;
      // A look that the runtime's death cut off before the status was fetched comes too late for what is removed at once.
      return story.removalClass === 'settled' || !this.#isNearOutage(fromMs, untilMs);
    }
    return untilMs - fromMs > UNSEEN_MS && !this.#isNearOutage(fromMs, untilMs);
  }

  #isNearOutage(fromMs: number, untilMs: number): boolean {
    return this.#evidence.log.outages.some(
      (outage: Outage) => outage.fromMs <= untilMs && outage.untilMs + AFTER_OUTAGE_MS >= fromMs,
    );
  }

  /** Events of what the driver did not make. */
  #judgeStrangers(): void {
    const { containers, sandboxes } = this.#evidence.log;
    const known = new Set([...containers, ...sandboxes].map(({ id }) => id));
    for (const [id, events] of this.#eventsById) {
      if (known.has(id)) continue;
      const lines = events.map((event) => formatEvent(event, this.#evidence.originMs));
      this.#fail(`events of the unknown ${events[0]?.kind} ${id}`, lines.join('\n'));
    }
  }

  #judgeOther(event: SeenEvent): void {
    if (event.type === 'PodSync') return;
    this.#counts.folded++;
    this.#fail(`a ${event.type}`, formatEvent(event, this.#evidence.originMs));
  }

  #fail(problem: string, story: string): void {
    this.#failures.push({ problem, story });
  }

  #tellContainer(story: ContainerStory): string {
    const { originMs, ownWords } = this.#evidence;
    const at = (timeMs: number | undefined): string => formatMs(timeMs, originMs);
    const own = ownWords.get(story.key);
    const { verdict } = story;
    return [
      `container ${story.key} (${story.id}) of pod ${story.podUid}, ${story.removalClass}, ${JSON.stringify(story.ending)}`,
      `  create ${at(story.createCalledMs)} answered ${at(story.createdMs)}; start ${at(story.startCalledMs)} answered ${at(story.startedMs)}`,
      `  own words: start ${at(own?.startMs)}, end ${at(own?.endMs)} with ${own?.exitCode ?? 'no code'}`,
      `  killed ${at(story.killedMs)}, seen dead ${at(story.seenDeadMs)}, removal ${at(story.removalCalledMs)}, gone ${at(story.removedMs)}`,
      `  runtime: ${verdict === undefined ? 'not asked' : `${verdict.state} ${verdict.exitCode} ${verdict.reason} ${at(verdict.finishedAtMs)}`}`,
      ...this.#tellRest(story),
    ].join('\n');
  }

  #tellSandbox(story: SandboxStory): string {
    const at = (timeMs: number | undefined): string => formatMs(timeMs, this.#evidence.originMs);
    return [
      `sandbox ${story.podName} (${story.id}) of pod ${story.podUid}, ${story.removalClass}`,
      `  run ${at(story.runCalledMs)} answered ${at(story.runningMs)}; stop ${at(story.stopCalledMs)}`,
      `  removal ${at(story.removalCalledMs)}, gone ${at(story.removedMs)}`,
      ...this.#tellRest(story),
    ].join('\n');
  }

  #tellRest(story: ContainerStory | SandboxStory): string[] {
    const { originMs, log, looks } = this.#evidence;
    const events = this.#eventsById.get(story.id ?? '') ?? [];
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
}
