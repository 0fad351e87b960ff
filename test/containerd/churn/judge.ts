/**
 * Holds the generator's events against what really happened.
 *
 * In: the driver's log, the containers' own words, the events, and when the generator looked. Out: every deviation
 * with the whole story of the container, and the counts. Pure.
 *
 * The rules, for each container that the driver removed only after the runtime had shown it dead for three seconds:
 * exactly one ContainerDied with the right exit code, exactly one ContainerRemoved, ContainerStarted once (it may be
 * absent when no look fell between start and end), in that order. The right code is the one that the runtime itself gave
 * before the removal, and that one must be what the container announced or what the driver's kill makes of it. For
 * containers that were removed at once, an event may be absent where no look saw the container, and the code where
 * its status was gone; what is there must be right all the same. Nothing may come twice, ever.
 *
 * @module
 */
import { codesOfFailure, isNearOutage, wasVisible, type Evidence } from './evidence.js';
import { formatEvent, type SeenEvent } from './seen-event.js';
import { type ContainerStory, type SandboxStory } from './story.js';
import { tellContainer, tellSandbox } from './story-text.js';
import { noCounts, type Failure, type Verdict } from './verdict.js';

/** The driver's own list is asked every 200 ms, so this long is containerd's doing. */
const SHOWN_LATE_MS = 3_000;

/** Judges one run. */
export function judge(evidence: Evidence): Verdict {
  return new Judgement(evidence).conclude();
}

class Judgement {
  readonly #evidence: Evidence;
  readonly #eventsById = new Map<string, SeenEvent[]>();
  readonly #failures: Failure[] = [];
  readonly #latencies: number[] = [];
  readonly #counts = noCounts();

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
    const events = this.#eventsById.get(story.id) ?? [];
    const fail = (problem: string): void =>
      this.#fail(problem, story.podUid, tellContainer(this.#evidence, story, events));
    this.#judgeOrder(events, fail);
    if (!this.#everRan(story)) {
      // It may be reported when it goes ("died, removed", without a code), as the kubelet's table has it.
      counts.neverStarted++;
      const codes = events.flatMap(({ exitCode }) => exitCode ?? []);
      if (!codes.every((code) => this.#isFailure(story, code))) fail('an exit code of what never ran');
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
    if (wasVisible(this.#evidence, story, fromMs, story.removalCalledMs ?? Infinity)) {
      fail('ContainerDied is missing');
    } else if (story.removalClass === 'early') this.#counts.betweenLooksEarly++;
    else this.#counts.betweenLooksSettled++;
  }

  #judgeDeath(story: ContainerStory, died: SeenEvent, fail: (problem: string) => void): void {
    const { verdict, removalClass } = story;
    const announced = this.#codesByIntent(story);
    if (verdict !== undefined && !announced.includes(verdict.exitCode)) {
      if (verdict.state === 'exited' && this.#isFailure(story, verdict.exitCode)) {
        this.#counts.codeLostByRuntime++;
      } else {
        fail(`the runtime itself says ${verdict.state} ${verdict.exitCode}, not ${announced.join(' or ')}`);
      }
    }
    if (verdict !== undefined && (story.seenDeadMs ?? 0) - verdict.finishedAtMs > SHOWN_LATE_MS) {
      this.#counts.shownLateByRuntime++;
    }
    if (died.exitCode === undefined) {
      if (removalClass === 'early') this.#counts.earlyDiedWithoutCode++;
      else fail('ContainerDied has no exit code');
      return;
    }
    const right = verdict === undefined ? announced : [verdict.exitCode];
    const explained = verdict === undefined && this.#isFailure(story, died.exitCode);
    if (!right.includes(died.exitCode) && !explained) {
      fail(`ContainerDied has exit code ${died.exitCode}, right is ${right.join(' or ')}`);
      return;
    }
    this.#counts.diedWithCode++;
    if (!right.includes(died.exitCode)) this.#counts.codeLostByRuntime++;
    if (verdict !== undefined && !isNearOutage(this.#evidence.log, verdict.finishedAtMs, died.atMs)) {
      this.#latencies.push(died.atMs - verdict.finishedAtMs);
    }
  }

  /** Whether that code can be containerd's own failure at a time when it was killed. */
  #isFailure(story: ContainerStory, code: number): boolean {
    const codes = codesOfFailure(this.#evidence, story);
    return codes === 'any' || codes.includes(code);
  }

  /** What the container announced, and what a KILL of the driver makes of it. */
  #codesByIntent(story: ContainerStory): number[] {
    const announced = this.#evidence.ownWords.get(story.key)?.exitCode;
    const codes = announced === undefined ? [] : [announced];
    if (story.killedMs !== undefined) codes.push(137);
    return codes;
  }

  #judgeUnseenStart(story: ContainerStory, fail: (problem: string) => void): void {
    this.#counts.startBetweenLooks++;
    if (story.startedMs === undefined || story.verdict === undefined) return;
    // An end that containerd lost is dated by when it came back: the container's own words know better.
    const ownEndMs = this.#evidence.ownWords.get(story.key)?.endMs ?? Infinity;
    const endedMs = Math.min(story.verdict.finishedAtMs, ownEndMs);
    if (wasVisible(this.#evidence, story, story.startedMs, endedMs)) {
      fail('ContainerStarted is missing, though it ran while somebody looked');
    }
  }

  #judgeSandbox(story: SandboxStory): void {
    if (story.id === undefined) return;
    this.#counts.sandboxes++;
    const events = this.#eventsById.get(story.id) ?? [];
    const fail = (problem: string): void =>
      this.#fail(`sandbox: ${problem}`, story.podUid, tellSandbox(this.#evidence, story, events));
    this.#judgeOrder(events, fail);
    if (story.runningMs === undefined) return;
    for (const type of ['ContainerStarted', 'ContainerDied', 'ContainerRemoved']) {
      if (events.some((event) => event.type === type)) continue;
      const untilMs = type === 'ContainerStarted' ? story.stopCalledMs : story.removalCalledMs;
      if (wasVisible(this.#evidence, story, story.runningMs, untilMs ?? story.removalCalledMs ?? Infinity)) {
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

  /** Events of what the driver did not make. */
  #judgeStrangers(): void {
    const { containers, sandboxes } = this.#evidence.log;
    const known = new Set([...containers, ...sandboxes].map(({ id }) => id));
    for (const [id, events] of this.#eventsById) {
      if (known.has(id)) continue;
      const lines = events.map((event) => formatEvent(event, this.#evidence.originMs));
      this.#fail(`events of the unknown ${events[0]?.kind} ${id}`, events[0]?.podUid, lines.join('\n'));
    }
  }

  #judgeOther(event: SeenEvent): void {
    if (event.type === 'PodSync' && event.folded === 0) return;
    this.#counts.folded += event.folded;
    this.#fail(`a ${event.type}`, event.podUid, formatEvent(event, this.#evidence.originMs));
  }

  #fail(problem: string, podUid: string | undefined, story: string): void {
    this.#failures.push({ problem, podUid, story });
  }
}
