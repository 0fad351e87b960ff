import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type NodePod } from '#kube/pod/node-pod.js';
import { type PodUpdate } from '#kube/pod/pod-update.js';
import { watchPromise } from '#support/watch-promise.js';
import { configDelivered, type ConfigDelivery } from '#base/channels/config-channels.js';
import { formatConfigProblem } from './config-problem.js';
import { judgeByContent } from './manifests/judge-pod.js';
import { PodConfig, type PodSourcePort } from './pod-config.js';
import { ProblemBook } from './problem-book.js';

const pod = (uid: string, name = uid, image = 'a'): NodePod => ({
  ...{ apiVersion: 'v1', kind: 'Pod', metadata: { uid, name, namespace: 'default' } },
  spec: { containers: [{ name: 'a', image }] },
});

const show = ({ type, source, pods }: PodUpdate): string =>
  `${type} ${source} ${pods.map(({ metadata, spec }) => `${metadata.name}:${spec.containers[0]!.image}`).join(' ')}`;

/** Reads what is there, and stays at the point where the next would come. */
class Reader {
  readonly stop = new AbortController();
  readonly #updates: AsyncIterator<PodUpdate, void>;
  #next: Promise<IteratorResult<PodUpdate, void>> | undefined;

  constructor(config: PodConfig) {
    this.#updates = config.updates(this.stop.signal)[Symbol.asyncIterator]();
  }

  /** The next update, or undefined when none waits. */
  async next(): Promise<PodUpdate | undefined> {
    this.#next ??= this.#updates.next();
    const watched = watchPromise(this.#next);
    await new Promise((resolve) => setImmediate(resolve));
    if (watched.value === undefined) return undefined;
    this.#next = undefined;
    return watched.value.done === true ? undefined : watched.value.value;
  }

  async all(): Promise<string[]> {
    const found: string[] = [];
    for (let update = await this.next(); update !== undefined; update = await this.next()) {
      found.push(show(update));
    }
    return found;
  }
}

describe('the merged sources', () => {
  it('say what changed, per source, and nothing for what stays', async () => {
    const config = new PodConfig();
    const file = config.addSource('file');
    const reader = new Reader(config);
    expect(await reader.all()).toEqual([]);
    file.deliver([pod('1'), pod('2')]);
    expect(await reader.all()).toEqual(['ADD file 1:a 2:a']);
    file.deliver([pod('1'), pod('2')]);
    expect(await reader.all()).toEqual([]);
    file.deliver([pod('2', '2', 'b'), pod('3')]);
    expect(await reader.all()).toEqual(['REMOVE file 1:a', 'ADD file 3:a', 'UPDATE file 2:b']);
    expect(config.stats).toEqual({ deliveries: 3, folded: 0, handedOut: 4 });
  });

  it('fold what nobody has read yet', async () => {
    const config = new PodConfig();
    const file = config.addSource('file');
    const deliveries: ConfigDelivery[] = [];
    const leave = configDelivered.subscribe((delivery) => deliveries.push(delivery));
    const reader = new Reader(config);
    file.deliver([pod('1'), pod('2')]);
    file.deliver([pod('1', '1', 'b')]);
    file.deliver([pod('1', '1', 'c')]);
    leave();
    expect(await reader.all()).toEqual(['ADD file 1:c']);
    expect(config.stats.folded).toBe(3);
    expect(deliveries.map(({ folded }) => folded)).toEqual([0, 2, 1]);
  });

  it('end with the signal, also in the middle of what was computed, and another reader goes on', async () => {
    const config = new PodConfig();
    const file = config.addSource('file');
    const first = new Reader(config);
    file.deliver([pod('1')]);
    expect(await first.all()).toEqual(['ADD file 1:a']);
    file.deliver([pod('2')]);
    expect(show((await first.next())!)).toBe('REMOVE file 1:a');
    first.stop.abort();
    expect(await first.next()).toBeUndefined();
    const second = new Reader(config);
    expect(await second.all()).toEqual(['ADD file 2:a']);
    second.stop.abort();
    expect(await second.next()).toBeUndefined();
  });

  it('have one reader at a time', async () => {
    const config = new PodConfig();
    const reader = new Reader(config);
    await reader.next();
    const other = config.updates(new AbortController().signal)[Symbol.asyncIterator]();
    await expect(other.next()).rejects.toMatchObject({ code: 'SUBSCRIPTION_IN_USE' });
  });

  it('have each a name of its own', () => {
    const config = new PodConfig();
    config.addSource('file');
    expect(() => config.addSource('file')).toThrow('there is a source file already');
  });
});

describe('all sources', () => {
  it('are seen once each has delivered and the reader is through with it', async () => {
    const config = new PodConfig();
    const [file, http] = [config.addSource('file'), config.addSource('http')];
    const reader = new Reader(config);
    file.deliver([pod('1')]);
    http.deliver([]);
    expect(config.seenAllSources()).toBe(false);
    expect(await reader.next()).toBeDefined();
    expect(config.seenAllSources()).toBe(false);
    expect(await reader.next()).toBeUndefined();
    expect(config.seenAllSources()).toBe(true);
    file.deliver([pod('2')]);
    expect(config.seenAllSources()).toBe(true);
  });

  it('are not seen while one of them has not read all that it is to read', async () => {
    const config = new PodConfig();
    const file = config.addSource('file');
    const reader = new Reader(config);
    file.deliver([pod('1')], { isComplete: false });
    expect(await reader.all()).toEqual(['ADD file 1:a']);
    expect(config.seenAllSources()).toBe(false);
    file.deliver([pod('1')]);
    expect(config.seenAllSources()).toBe(true);
    file.deliver([pod('1')], { isComplete: false });
    expect(config.seenAllSources()).toBe(true);
  });

  it('are seen where there is none', () => {
    expect(new PodConfig().seenAllSources()).toBe(true);
  });
});

describe('a pod that two sources want', () => {
  const setUp = (): { config: PodConfig; file: PodSourcePort; http: PodSourcePort; told: string[] } => {
    const told: string[] = [];
    const problems = new ProblemBook({
      onProblem: (problem) => told.push(formatConfigProblem(problem)),
      onSolved: ({ message }) => told.push(`solved: ${message.slice(0, 7)}`),
    });
    const config = new PodConfig({ problems });
    return { config, told, file: config.addSource('file'), http: config.addSource('http') };
  };

  it('is the first one’s until that lets it go; the other one hears of it once', async () => {
    const { config, file, http, told } = setUp();
    const reader = new Reader(config);
    http.deliver([pod('h', 'web')]);
    file.deliver([pod('f', 'web'), pod('g')], {
      placeOf: () => ({ file: 'web.yaml', line: 3, column: 1 }),
    });
    file.deliver([pod('f', 'web'), pod('g')], {
      placeOf: () => ({ file: 'web.yaml', line: 3, column: 1 }),
    });
    expect(await reader.all()).toEqual(['ADD file g:a', 'ADD http web:a'].sort());
    expect(told).toEqual([
      'web.yaml:3:1: metadata.name: refused: the source http has the pod default/web already; it comes when that is gone',
    ]);
    expect(config.problems()).toHaveLength(1);
    expect(config.findRefusal('file', 'f')).toBe(
      'the source http has the pod default/web already; it comes when that is gone',
    );
    expect([config.findRefusal('file', 'g'), config.findRefusal('http', 'h')]).toEqual([
      undefined,
      undefined,
    ]);
    http.deliver([]);
    expect(config.findRefusal('file', 'f')).toBeUndefined();
    expect(await reader.all()).toEqual(['REMOVE http web:a', 'ADD file web:a']);
    expect(told.slice(1)).toEqual(['solved: refused']);
    expect(config.problems()).toEqual([]);
  });

  it('is recognized by its uid, too', async () => {
    const { config, file, http, told } = setUp();
    file.deliver([pod('1', 'a')], { placeOf: () => ({ file: 'a.yaml', line: 1, column: 1 }) });
    http.deliver([pod('1', 'b')]);
    expect(await new Reader(config).all()).toEqual(['ADD file a:a']);
    expect(told).toEqual([
      '<http>: metadata.uid: refused: the source file (a.yaml:1) has the uid 1 as default/a already; it comes when that is gone',
    ]);
  });

  it('stays where it is when a claim that was refused before becomes the oldest', async () => {
    const { config, file, http } = setUp();
    const stdin = config.addSource('stdin');
    const reader = new Reader(config);
    file.deliver([pod('f', 'one')]);
    http.deliver([pod('h', 'one'), pod('h2', 'two')]);
    stdin.deliver([pod('h', 'three')]);
    expect(await reader.all()).toEqual(['ADD file one:a', 'ADD http two:a', 'ADD stdin three:a']);
    file.deliver([]);
    expect(await reader.all()).toEqual(['REMOVE file one:a']);
    stdin.deliver([]);
    expect(await reader.all()).toEqual(['REMOVE stdin three:a', 'ADD http one:a']);
  });
});

describe('whatever is delivered and read', () => {
  it('the fold of the updates of one source is its last snapshot', async () => {
    const sketches = fc.uniqueArray(
      fc.record({ uid: fc.constantFrom('1', '2', '3', '4', '5'), image: fc.constantFrom('x', 'y', 'z') }),
      { selector: ({ uid }) => uid },
    );
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.record({ snapshot: sketches, reads: fc.nat({ max: 3 }) }), { minLength: 1 }),
        async (steps) => {
          const config = new PodConfig();
          const port = config.addSource('file', { judge: judgeByContent });
          const reader = new Reader(config);
          const folded = new Map<string, NodePod>();
          const readOne = async (): Promise<boolean> => {
            const update = await reader.next();
            for (const each of update?.pods ?? []) {
              if (update!.type === 'REMOVE') folded.delete(each.metadata.uid);
              else folded.set(each.metadata.uid, each);
            }
            return update !== undefined;
          };
          for (const { snapshot, reads } of steps) {
            port.deliver(snapshot.map(({ uid, image }) => pod(uid, uid, image)));
            for (let left = reads; left > 0; left--) await readOne();
          }
          while (await readOne());
          const last = steps.at(-1)!.snapshot.map(({ uid, image }) => pod(uid, uid, image));
          expect(folded).toEqual(new Map(last.map((each) => [each.metadata.uid, each])));
          reader.stop.abort();
          await reader.next();
        },
      ),
      { numRuns: 100 },
    );
  });

  const sketch = fc
    .record({
      ...{ uid: fc.constantFrom('1', '2', '3', '4', '5'), name: fc.constantFrom('a', 'b', 'c', 'd') },
      image: fc.constantFrom('x', 'y'),
    })
    .map(({ uid, name, image }) => pod(uid, name, image));
  const step = fc.oneof(
    fc.record({ source: fc.constantFrom('file', 'http'), pods: fc.array(sketch, { maxLength: 4 }) }),
    fc.record({ reads: fc.nat({ max: 4 }) }),
  );

  it('the fold of the updates is what the sources want, and no pod is there twice', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 12 }), async (steps) => {
        const config = new PodConfig();
        const ports = new Map(
          ['file', 'http'].map((name) => [name, config.addSource(name, { judge: judgeByContent })]),
        );
        const last = new Map<string, readonly NodePod[]>();
        const folded = new Map<string, { source: string; pod: NodePod }>();
        const reader = new Reader(config);
        const readOne = async (): Promise<boolean> => {
          const update = await reader.next();
          for (const each of update?.pods ?? []) {
            const { uid } = each.metadata;
            expect(folded.has(uid)).toBe(update!.type !== 'ADD');
            if (update!.type === 'REMOVE') folded.delete(uid);
            else folded.set(uid, { source: update!.source, pod: each });
            const names = [...folded.values()].map((held) => held.pod.metadata.name);
            expect(new Set(names).size).toBe(names.length);
          }
          return update !== undefined;
        };
        for (const each of steps) {
          if ('reads' in each) {
            for (let left = each.reads; left > 0; left--) await readOne();
            continue;
          }
          last.set(each.source, each.pods);
          ports.get(each.source)!.deliver(each.pods);
        }
        while (await readOne());
        expect(config.seenAllSources()).toBe(last.size === 2);
        const taken = [...folded.values()];
        for (const [source, pods] of last) {
          for (const each of pods) {
            // Each is there as it was delivered, or another one stands in its way.
            const isThere = taken.some((held) => held.source === source && isDeepStrictEqual(held.pod, each));
            const isBlocked = taken.some(
              (held) =>
                !(held.source === source && isDeepStrictEqual(held.pod, each)) &&
                (held.pod.metadata.uid === each.metadata.uid ||
                  held.pod.metadata.name === each.metadata.name),
            );
            expect(isThere || isBlocked).toBe(true);
          }
        }
        for (const held of taken) {
          expect(last.get(held.source)).toContainEqual(held.pod);
        }
        reader.stop.abort();
        await reader.next();
      }),
      { numRuns: 200 },
    );
  });
});
