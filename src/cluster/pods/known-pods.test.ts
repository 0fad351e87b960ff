import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type ApiPod, MIRROR_ANNOTATION, type NamedApiPod } from './api-pod.js';
import { KnownPods } from './known-pods.js';

const podOf = (uid: string, version: number, name = 'web'): NamedApiPod => ({
  metadata: {
    ...{ uid, name, namespace: 'default', resourceVersion: String(version) },
    annotations: { [MIRROR_ANNOTATION]: 'x' },
  },
});

function scene() {
  const known = new KnownPods();
  const told: string[] = [];
  known.listen({
    changed: ({ metadata }) => void told.push(`${metadata.uid} @${metadata.resourceVersion}`),
    gone: ({ metadata }) => void told.push(`${metadata.uid} gone`),
  });
  return { known, told };
}

describe('pods that are known', () => {
  it('do not come back with what the watch tells of the time before an answer said that they are gone', () => {
    const { known, told } = scene();
    known.replace([podOf('a', 5)], '7');
    known.end(podOf('a', 5));
    known.found(podOf('b', 12));
    known.upsert(podOf('a', 9));
    known.delete(podOf('a', 11));
    known.upsert(podOf('b', 12));
    expect(told).toEqual(['a @5', 'a gone', 'b @12']);
    expect([...known.all()].map(({ metadata }) => metadata.uid)).toEqual(['b']);
  });

  it('do not come back either with a list of the time before, and are there with one without them', () => {
    const { known, told } = scene();
    known.replace([podOf('a', 5)], '7');
    known.end(podOf('a', 5));
    known.replace([podOf('a', 5)], '8');
    expect(known.size).toBe(0);
    known.replace([], '11');
    // A restored backup has it again.
    known.replace([podOf('a', 5)], '6');
    expect(told).toEqual(['a @5', 'a gone', 'a @5']);
  });

  it('are what a list of a restored backup says, also of who was gone by an answer and of versions that were had before', () => {
    const { known, told } = scene();
    known.replace([podOf('a', 5), podOf('b', 6)], '7');
    known.end(podOf('a', 5));
    known.upsert(podOf('b', 9));
    known.replace([podOf('a', 5), podOf('b', 6)], '6');
    // Another one than before: versions count from the backup on.
    known.upsert(podOf('b', 8));
    known.replace([podOf('a', 5), podOf('b', 8)], '7');
    expect(told).toEqual(['a @5', 'b @6', 'a gone', 'b @9', 'a @5', 'b @6', 'b @8', 'a @5', 'b @8']);
    known.update(podOf('b', 9));
    expect(known.find('b')?.metadata.resourceVersion).toBe('9');
  });

  it('are not taken from an answer that came after the watch had told that they are gone', () => {
    const { known, told } = scene();
    known.replace([], '7');
    known.upsert(podOf('a', 8));
    known.delete(podOf('a', 9));
    known.found(podOf('a', 8));
    known.update(podOf('a', 8));
    expect(known.size).toBe(0);
    expect(told).toEqual(['a @8', 'a gone']);
  });

  it('are there after all when the server says so that was told to delete them', () => {
    const { known } = scene();
    known.replace([podOf('a', 5)], '7');
    known.end(podOf('a', 5));
    known.upsert(podOf('a', 8));
    known.found(podOf('a', 8));
    expect(known.find('a')?.metadata.resourceVersion).toBe('8');
  });
});

type Step =
  | { readonly op: 'make' | 'change' | 'remove'; readonly at: number }
  | { readonly op: 'ownMake' | 'ownRemove' | 'ownChange'; readonly at: number }
  | { readonly op: 'watch' | 'answer' | 'relist'; readonly at: number };

const NAMES = ['web', 'db'];
const OPS = [
  ...['make', 'change', 'remove', 'ownMake', 'ownRemove', 'ownChange'],
  ...['watch', 'watch', 'watch', 'answer', 'answer', 'relist'],
] as const;

/** A server, what of its changes was told by a watch, and answers that are on their way. */
class ServerModel {
  readonly known = new KnownPods();
  #version = 10;
  #uids = 0;
  #pods: ReadonlyMap<string, NamedApiPod> = new Map();
  /** As it was after each version; the watch tells of the step from each to the next. */
  readonly #states = new Map<number, ReadonlyMap<string, NamedApiPod>>();
  #watchedUntil = 10;
  /** The node makes and removes one thing at a time; changes of statuses are beside that. */
  #writing: (() => void) | undefined;
  readonly #patching: (() => void)[] = [];

  constructor() {
    this.#states.set(this.#version, this.#pods);
    this.known.replace([], String(this.#version));
  }

  run({ op, at }: Step): void {
    const name = NAMES[at % NAMES.length]!;
    switch (op) {
      case 'make':
        this.#make(name);
        break;
      case 'change':
        this.#change(pick([...this.#pods.keys()], at));
        break;
      case 'remove':
        this.#remove(pick([...this.#pods.keys()], at));
        break;
      case 'ownMake':
        this.#ownMake(name);
        break;
      case 'ownRemove':
        this.#ownRemove(pick([...this.known.all()], at));
        break;
      case 'ownChange':
        this.#ownChange(pick([...this.known.all()], at));
        break;
      case 'watch':
        this.watch();
        break;
      case 'answer':
        this.answer(at);
        break;
      case 'relist':
        this.#relist(at);
        break;
    }
  }

  /** Everything that is on its way arrives. */
  settle(): void {
    while (this.#writing !== undefined || this.#patching.length > 0) this.answer(0);
    while (this.#watchedUntil < this.#version) this.watch();
  }

  get wanted(): Map<string, string | undefined> {
    return versionsOf(this.#pods.values());
  }

  get found(): Map<string, string | undefined> {
    return versionsOf(this.known.all());
  }

  watch(): void {
    if (this.#watchedUntil >= this.#version) return;
    const before = this.#states.get(this.#watchedUntil)!;
    const after = this.#states.get(++this.#watchedUntil)!;
    const version = String(this.#watchedUntil);
    for (const [uid, pod] of after) if (before.get(uid) !== pod) this.known.upsert(pod);
    for (const [uid, pod] of before) {
      if (!after.has(uid)) this.known.delete({ metadata: { ...pod.metadata, resourceVersion: version } });
    }
  }

  answer(at: number): void {
    const isPatch = this.#patching.length > 0 && (at % 2 === 0 || this.#writing === undefined);
    if (isPatch) this.#patching.splice(at % this.#patching.length, 1)[0]!();
    else {
      const deliver = this.#writing;
      this.#writing = undefined;
      deliver?.();
    }
  }

  /** Nothing older than what was seen, and perhaps not the newest: as from a server's memory. */
  #relist(at: number): void {
    this.#watchedUntil += at % (this.#version - this.#watchedUntil + 1);
    const pods = [...this.#states.get(this.#watchedUntil)!.values()];
    this.known.replace(pods, String(this.#watchedUntil));
  }

  #set(pods: ReadonlyMap<string, NamedApiPod>): void {
    this.#pods = pods;
    this.#states.set(++this.#version, pods);
  }

  #findNamed(name: string): NamedApiPod | undefined {
    return [...this.#pods.values()].find(({ metadata }) => metadata.name === name);
  }

  #make(name: string): NamedApiPod | undefined {
    if (this.#findNamed(name) !== undefined) return undefined;
    const uid = `uid-${++this.#uids}`;
    const made = podOf(uid, this.#version + 1, name);
    this.#set(new Map(this.#pods).set(uid, made));
    return made;
  }

  #change(uid: string | undefined): NamedApiPod | undefined {
    const before = this.#pods.get(uid ?? '');
    if (before === undefined) return undefined;
    const after = podOf(before.metadata.uid, this.#version + 1, before.metadata.name);
    this.#set(new Map(this.#pods).set(after.metadata.uid, after));
    return after;
  }

  #remove(uid: string | undefined): void {
    if (!this.#pods.has(uid ?? '')) return;
    this.#set(new Map([...this.#pods].filter(([key]) => key !== uid)));
  }

  #ownMake(name: string): void {
    if (this.#writing !== undefined) return;
    // Where it is there already, that is asked for.
    const there = this.#make(name) ?? this.#findNamed(name)!;
    this.#writing = () => this.known.found(there);
  }

  #ownRemove(pod: NamedApiPod | undefined): void {
    if (this.#writing !== undefined || pod === undefined) return;
    this.#remove(pod.metadata.uid);
    this.#writing = () => this.known.end(pod);
  }

  #ownChange(pod: NamedApiPod | undefined): void {
    const changed = this.#change(pod?.metadata.uid);
    if (changed !== undefined) this.#patching.push(() => this.known.update(changed));
  }
}

function pick<T>(items: readonly T[], at: number): T | undefined {
  return items.length === 0 ? undefined : items[at % items.length];
}

function versionsOf(pods: Iterable<ApiPod>): Map<string, string | undefined> {
  const entries = [...pods].map(({ metadata }) => [metadata?.uid ?? '', metadata?.resourceVersion] as const);
  return new Map(entries.sort(([one], [other]) => (one < other ? -1 : 1)));
}

it('are those of the server once everything has arrived, in whatever order watch, lists and answers come', () => {
  const step = fc.record({ op: fc.constantFrom(...OPS), at: fc.nat(11) }) as fc.Arbitrary<Step>;
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const model = new ServerModel();
      for (const each of steps) model.run(each);
      model.settle();
      expect(model.found).toEqual(model.wanted);
    }),
    { numRuns: 2_000 },
  );
});
