/**
 * Whatever is done to a folder of manifests, with restarts in between: its pods and ConfigMaps are those that a simple
 * model expects, and none goes before its file did.
 *
 * @module
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { aManifest } from '#support/builders/a-manifest.js';
import { FakeClock } from '#testing/fake-clock.js';
import { sourceLookEnded } from '#base/channels/config-channels.js';
import { isConfigObject } from '../manifests/source-object.js';
import { FileSource } from './file-source.js';
import { type FileContent, type FolderLook, type ManifestFiles } from './manifest-folder.js';
import { INLINE_PARSER } from '../manifests/parse-manifest.js';
import { ProblemBook } from '../problem-book.js';

interface Content {
  /** Pods and their images. */
  readonly pods: Readonly<Record<string, string>>;
  /** ConfigMaps and what is in them. */
  readonly maps: Readonly<Record<string, string>>;
  /** Something else in it is wrong. */
  readonly isBroken: boolean;
  /** Tells contents apart. */
  readonly version: number;
}

type Step =
  | { readonly do: 'write'; readonly name: string; readonly content: Content }
  | { readonly do: 'remove'; readonly name: string }
  | { readonly do: 'rename'; readonly name: string; readonly to: string }
  | { readonly do: 'fail' | 'restart' };

function textOf({ pods, maps, isBroken, version }: Content): string {
  const ofPods = Object.entries(pods).map(([name, image]) => aManifest(name, image));
  const ofMaps = Object.entries(maps).map(
    ([name, value]) =>
      `apiVersion: v1\nkind: ConfigMap\nmetadata: { name: ${name} }\ndata: { k: ${value} }\n`,
  );
  const documents = [...ofPods, ...ofMaps];
  if (isBroken) documents.push('apiVersion: v1\nkind: Pod\nmetadata: { name: x }\n');
  if (documents.length === 0) documents.push('apiVersion: v1\nkind: List\nitems: []\n');
  return `# ${version}\n${documents.join('---\n')}`;
}

/** A folder in memory. */
class Folder implements ManifestFiles {
  readonly files = new Map<string, Content>();
  fails = false;

  async look(): Promise<FolderLook> {
    if (this.fails) throw new Error('EIO');
    const files = new Map(
      [...this.files]
        .sort()
        .map(([name, { version }]) => [name, { sign: String(version), size: version, isSole: true }]),
    );
    return { ...{ kind: 'present', folder: '/pods', identity: '1', onlyName: undefined }, files, others: [] };
  }

  async read(_folder: string, name: string): Promise<FileContent> {
    const content = this.files.get(name);
    if (content === undefined) return { kind: 'unreadable', why: 'gone' };
    return { kind: 'read', bytes: Buffer.from(textOf(content)), sign: String(content.version) };
  }
}

/** What each file stands for, when everything has settled after each step. */
class Model {
  readonly files = new Map<string, Pick<Content, 'pods' | 'maps'> & { readonly content: Content }>();
  /** By pod and ConfigMap, whose names differ here: the file that wanted it first. */
  readonly #holders = new Map<string, string>();

  write(name: string, content: Content): void {
    const kept = content.isBroken ? this.files.get(name) : undefined;
    const pods = { ...kept?.pods, ...content.pods };
    this.files.set(name, { content, pods, maps: { ...kept?.maps, ...content.maps } });
    this.#settleHolders();
  }

  remove(name: string): void {
    this.files.delete(name);
    this.#settleHolders();
  }

  rename(name: string, to: string): void {
    const file = this.files.get(name);
    if (file === undefined || name === to) return;
    this.files.delete(name);
    if (this.files.has(to)) {
      this.write(to, file.content);
      return;
    }
    this.files.set(to, file);
    for (const [each, holder] of this.#holders) if (holder === name) this.#holders.set(each, to);
  }

  #settleHolders(): void {
    const wanted = new Map<string, string[]>();
    for (const name of [...this.files.keys()].sort()) {
      const { pods, maps } = this.files.get(name)!;
      for (const each of [...Object.keys(pods), ...Object.keys(maps)]) {
        wanted.set(each, [...(wanted.get(each) ?? []), name]);
      }
    }
    for (const each of this.#holders.keys()) if (!wanted.has(each)) this.#holders.delete(each);
    for (const [each, names] of wanted) {
      if (!names.includes(this.#holders.get(each) ?? '')) this.#holders.set(each, names[0]!);
    }
  }

  get pods(): string {
    return this.#held('pods', '-n');
  }

  get maps(): string {
    return this.#held('maps', '');
  }

  #held(list: 'pods' | 'maps', ending: string): string {
    const all = [...this.#holders].flatMap(([each, file]) => {
      const version = this.files.get(file)![list][each];
      return version === undefined ? [] : [`${each}${ending}:${version}`];
    });
    return all.sort().join();
  }
}

const fileName = fc.constantFrom('a.yaml', 'b.yaml', 'c.yaml');
const pods = fc.dictionary(fc.constantFrom('p', 'q', 'r'), fc.constantFrom('one', 'two'), {
  noNullPrototype: true,
});
const maps = fc.dictionary(fc.constantFrom('m', 'o'), fc.constantFrom('one', 'two'), {
  noNullPrototype: true,
});
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      ...{ do: fc.constant('write' as const), name: fileName },
      content: fc.record({ pods, maps, isBroken: fc.boolean(), version: fc.constant(0) }),
    }),
  },
  fc.record({ do: fc.constant('remove' as const), name: fileName }),
  fc.record({ do: fc.constant('rename' as const), name: fileName, to: fileName }),
  fc.record({ do: fc.constantFrom('fail' as const, 'restart' as const) }),
);

const one = (version: string): Content => ({ pods: { p: version }, maps: {}, isBroken: false, version: 0 });
/** A manifest that has a copy gets another name, and is edited under it. */
const RENAMED_BESIDE_A_COPY: Step[] = [
  { do: 'write', name: 'c.yaml', content: one('one') },
  { do: 'write', name: 'b.yaml', content: one('one') },
  { do: 'rename', name: 'c.yaml', to: 'a.yaml' },
  { do: 'write', name: 'a.yaml', content: one('two') },
];

it('the pods and objects of a folder are those of the last good version of each file that is there', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 10 }), async (steps) => {
      const root = await mkdtemp(join(tmpdir(), 'podloop-file-model-'));
      const [folder, model] = [new Folder(), new Model()];
      let [clock, stop, complete, looks] = [new FakeClock(), new AbortController(), false, 0];
      let [delivered, deliveredMaps] = ['', ''];
      const leave = sourceLookEnded.subscribe(() => looks++);
      let running = Promise.resolve();
      const start = (): void => {
        [clock, stop, complete] = [new FakeClock({ settleRounds: 3 }), new AbortController(), false];
        const source = new FileSource({
          ...{ path: '/pods', nodeName: 'n', problems: new ProblemBook(), parser: INLINE_PARSER, clock },
          ...{
            lastGoodFolder: join(root, 'last-good'),
            files: folder,
            watch: () => ({ close: () => undefined }),
          },
          port: {
            deliver: (all, { isComplete = true, objects = [] } = {}) => {
              complete = isComplete;
              delivered = all
                .map(({ metadata, spec }) => `${metadata.name}:${spec.containers[0]!.image}`)
                .sort()
                .join();
              deliveredMaps = objects
                .filter(isConfigObject)
                .map(({ metadata, data }) => `${metadata.name}:${String(data.get('k'))}`)
                .sort()
                .join();
            },
          },
        });
        running = source.run(stop.signal);
      };
      /** Until two looks in a row, a rescan apart, have nothing new to say. */
      const settle = async (): Promise<void> => {
        const enough = looks + 3;
        while (looks < enough || (!complete && !folder.fails)) await clock.advance(1_000);
      };
      try {
        start();
        await settle();
        let version = 0;
        for (const each of steps) {
          version++;
          if (each.do === 'write') {
            folder.files.set(each.name, { ...each.content, version });
            model.write(each.name, { ...each.content, version });
          } else if (each.do === 'remove') {
            folder.files.delete(each.name);
            model.remove(each.name);
          } else if (each.do === 'rename') {
            const content = folder.files.get(each.name);
            if (content !== undefined && each.name !== each.to) {
              folder.files.delete(each.name);
              folder.files.set(each.to, content);
            }
            model.rename(each.name, each.to);
          } else if (each.do === 'fail') {
            folder.fails = true;
          } else {
            stop.abort();
            await running;
            [delivered, deliveredMaps] = ['nothing yet', 'nothing yet'];
            start();
          }
          await settle();
          expect([delivered, deliveredMaps]).toEqual([model.pods, model.maps]);
          if (folder.fails) {
            folder.fails = false;
            await settle();
            expect([delivered, deliveredMaps]).toEqual([model.pods, model.maps]);
          }
        }
      } finally {
        stop.abort();
        await running;
        leave();
        await rm(root, { recursive: true, force: true });
      }
    }),
    { numRuns: 40, examples: [[RENAMED_BESIDE_A_COPY]] },
  );
});
