/**
 * ConfigMaps and Secrets of a folder of manifests: that they come, change, stay and go as pods do.
 *
 * @module
 */
import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { untilTrue } from '#support/until-true.js';
import { SystemClock } from '#base/time/clock.js';
import { formatConfigProblem } from '../config-problem.js';
import { FileSource } from './file-source.js';
import { INLINE_PARSER, type ManifestParser } from '../manifests/parse-manifest.js';
import { PodConfig } from '../pod-config.js';
import { ProblemBook } from '../problem-book.js';

const CANARY = 'cAnArY-0815';
const CANARY64 = Buffer.from(CANARY).toString('base64');

const configMap = (name: string, value: string, more = ''): string =>
  `apiVersion: v1\nkind: ConfigMap\nmetadata: { name: ${name} }\ndata: { k: '${value}' }\n${more}---\n`;
const secret = (name: string, value = CANARY): string =>
  `apiVersion: v1\nkind: Secret\nmetadata: { name: ${name} }\nstringData: { k: '${value}' }\n---\n`;
const POD =
  'apiVersion: v1\nkind: Pod\nmetadata: { name: web }\nspec: { containers: [{ name: c, image: a }] }\n---\n';
const BROKEN = 'apiVersion: v1\nkind: Pod\nmetadata: { name: x }\n';

let root: string;
let folder: string;
let lastGood: string;

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'podloop-objects-'));
  [folder, lastGood] = [join(root, 'pods'), join(root, 'last-good')];
  await mkdir(folder);
});
afterEach(async () => rm(root, { recursive: true, force: true }));

const put = async (name: string, text: string): Promise<void> => writeFile(join(folder, name), text);

/** An agent's part that reads manifests, until it is disposed of. */
class Agent implements AsyncDisposable {
  readonly told: string[] = [];
  readonly cleared: string[] = [];
  readonly config: PodConfig;
  readonly #stop = new AbortController();
  readonly #running: Promise<void>;

  constructor(parser: ManifestParser = INLINE_PARSER) {
    const problems = new ProblemBook({
      onProblem: (problem) => this.told.push(formatConfigProblem(problem).replaceAll(`${folder}/`, '')),
      onSolved: (problem) => this.cleared.push(formatConfigProblem(problem).replaceAll(`${folder}/`, '')),
    });
    this.config = new PodConfig({ problems });
    const source = new FileSource({
      ...{ path: folder, nodeName: 'n', problems, parser, clock: new SystemClock() },
      ...{ port: this.config.addSource('file'), lastGoodFolder: lastGood },
      ...{ fileCheckFrequencyMs: 600_000, settleMs: 30 },
    });
    this.#running = source.run(this.#stop.signal);
  }

  get state(): string {
    const objects = this.config.objects.all().map(({ object }) => {
      const value = object.data.get('k');
      const text = typeof value === 'string' ? value : Buffer.from(value ?? []).toString();
      return `${object.kind === 'Secret' ? 'secret' : 'map'} ${object.metadata.name}=${text}`;
    });
    return objects.sort().join();
  }

  async until(state: string): Promise<void> {
    await untilTrue(() => this.state === state);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }
}

describe('the objects of a folder', () => {
  it('come with or without pods, change in place, and go', async () => {
    await put('a.yaml', configMap('one', '1'));
    await put('b.yaml', `${POD}${configMap('two', '2')}${secret('s')}`);
    await using agent = new Agent();
    await agent.until(`map one=1,map two=2,secret s=${CANARY}`);
    await put('a.yaml', configMap('one', 'other'));
    await agent.until(`map one=other,map two=2,secret s=${CANARY}`);
    await put('b.yaml', POD);
    await agent.until('map one=other');
    await rm(join(folder, 'a.yaml'));
    await agent.until('');
    expect(agent.told).toEqual([]);
  });

  it('stay while their file is broken, over a restart, too, unless they are good themselves', async () => {
    await put('a.yaml', `${configMap('one', '1')}${configMap('two', '2')}${secret('s')}`);
    {
      await using agent = new Agent();
      await agent.until(`map one=1,map two=2,secret s=${CANARY}`);
    }
    await put('a.yaml', `${configMap('one', 'next')}${BROKEN}`);
    {
      await using agent = new Agent();
      await agent.until(`map one=next,map two=2,secret s=${CANARY}`);
      await untilTrue(() => agent.told.length > 0);
      expect(agent.told).toEqual([
        'a.yaml:6:1: spec: Required value; ConfigMap default/two, Secret default/s go on as before',
      ]);
    }
    await put('a.yaml', 'a: [');
    {
      await using agent = new Agent();
      await agent.until(`map one=next,map two=2,secret s=${CANARY}`);
      await put('a.yaml', configMap('one', 'mended'));
      await agent.until('map one=mended');
    }
  });

  it('are those of the first of two files that have them, and the problem names both', async () => {
    await put('a.yaml', configMap('one', 'a'));
    await put('b.yaml', `${POD}${configMap('one', 'b')}`);
    await using agent = new Agent();
    await agent.until('map one=a');
    await untilTrue(() => agent.told.length > 0);
    expect(agent.told.map((line) => line.replace(`${folder}/`, ''))).toEqual(
      ['b.yaml:8:13: metadata.name: Duplicate value: "one": the ConfigMap stands at a.yaml:1 already'].map(
        (line) => line.replace('b.yaml:8:13', 'b.yaml:6:1'),
      ),
    );
    await rm(join(folder, 'a.yaml'));
    await agent.until('map one=b');
    await untilTrue(() => agent.cleared.length > 0);
  });

  it.each(['aaa.yaml', 'one-copy.yaml', 'zzz.yaml'])(
    'stay with the file that had them first when a copy named %s comes, over a restart, too',
    async (copy) => {
      await put('one.yaml', `${configMap('one', 'old')}${secret('s', 'old')}`);
      {
        await using agent = new Agent();
        await agent.until('map one=old,secret s=old');
        await put(copy, `${configMap('one', 'new')}${secret('s', 'new')}`);
        await untilTrue(() => agent.told.length === 2);
        expect(agent.told.every((line) => line.startsWith(`${copy}:`))).toBe(true);
        expect(agent.state).toBe('map one=old,secret s=old');
      }
      {
        await using agent = new Agent();
        await untilTrue(() => agent.told.length === 2);
        expect(agent.told.every((line) => line.startsWith(`${copy}:`))).toBe(true);
        expect(agent.state).toBe('map one=old,secret s=old');
        // It has what the first one lets go, and keeps it.
        await put('one.yaml', configMap('one', 'old'));
        await agent.until('map one=old,secret s=new');
        await put('one.yaml', `${configMap('one', 'old')}${secret('s', 'old')}`);
        await untilTrue(() => agent.told.at(-1)!.startsWith('one.yaml:'));
        expect(agent.state).toBe('map one=old,secret s=new');
      }
    },
  );

  it('do not change where they are immutable, until they are removed and added', async () => {
    await put('a.yaml', `${POD}${configMap('one', '1', 'immutable: true\n')}`);
    {
      await using agent = new Agent();
      await agent.until('map one=1');
      await put('a.yaml', `${POD}${configMap('one', '2', 'immutable: true\n')}`);
      await untilTrue(() => agent.told.length > 0);
      expect(agent.told).toEqual([
        'a.yaml:6:1: data: Forbidden: field is immutable when `immutable` is set; remove the object, and add it once it is gone; ConfigMap default/one goes on as before',
      ]);
      expect(agent.state).toBe('map one=1');
    }
    // The one that is kept is the one that counts.
    await using agent = new Agent();
    await untilTrue(() => agent.told.length > 0);
    expect(agent.state).toBe('map one=1');
    await put('a.yaml', POD);
    await agent.until('');
    await put('a.yaml', `${POD}${configMap('one', '2', 'immutable: true\n')}`);
    await agent.until('map one=2');
  });

  it('are kept for the agent’s eyes alone, and values of Secrets are in no problem', async () => {
    await put('a.yaml', `${secret('s')}${configMap('one', '1')}`);
    {
      await using agent = new Agent();
      await agent.until(`map one=1,secret s=${CANARY}`);
    }
    const [record = ''] = await readdir(lastGood);
    expect((await stat(lastGood)).mode & 0o777).toBe(0o700);
    expect((await stat(join(lastGood, record))).mode & 0o777).toBe(0o600);
    const kept = await readFile(join(lastGood, record), 'utf8');
    expect(kept).toContain(CANARY64);
    const bad = [
      ...[`kind: Secret\n${CANARY}`, `kind: Secret\ndata: "\\q${CANARY}"`, `kind: Secret\ndata: *${CANARY}`],
      ...[
        `kind: Secret\ndata: !${CANARY} x`,
        `kind: Secret\ndata: | ${CANARY}\n x`,
        `- kind: Secret\n  a: ${CANARY}`,
      ],
      ...[`kind: Secret\n}${CANARY}`, `{"kind": "Secret", "data": {"a": "${CANARY}" ${CANARY}}}`],
      ...[
        `kind: Secret\ndata: >${CANARY}\n b`,
        `kind: Secrt\ndata: { a: ${CANARY} }`,
        `kind: secret\ndata: ${CANARY}`,
      ],
      ...[`apiVersion: v1\nkind: List\nitems: { a: { kind: Secret, data: { a: ${CANARY} } } }`],
      ...[
        `apiVersion: v1\nkind: SecretList\nitems: [[{ data: ${CANARY} }], ${CANARY}]`,
        `stringData:${CANARY}`,
      ],
      ...[`apiVersion: v1\nstringData: { a: ${CANARY} }`, `kind: Pod\nstringData: { a: ${CANARY} }`],
      ...[
        secret('s', CANARY).replace('stringData', 'data'),
        secret('S'),
        secret('s', '').replace("''", `[${CANARY}]`),
      ],
      ...[`${secret('t')}${secret('t')}`, `%${CANARY}\nkind: Secret`, `kind: Secret\n? ${CANARY}\n${CANARY}`],
      ...[
        `kind: Secret\ndata: !${CANARY}!x y`,
        `kind: Secret\ndata: !<${CANARY} x`,
        `kind: Secret\ndata: &a *${CANARY}`,
      ],
    ];
    for (const [index, text] of bad.entries()) await put(`bad-${index}.yaml`, text);
    // A record that is cut short is damaged; what JSON.parse says of it shows some of it.
    for (const cut of [kept.replace('"data":{', '"data":{,'), kept.replace(`"${CANARY64}"`, CANARY64)]) {
      await writeFile(join(lastGood, record), cut);
      await using agent = new Agent();
      await untilTrue(() =>
        bad.every((_, index) => agent.told.some((line) => line.includes(`bad-${index}.`))),
      );
      expect(agent.told.some((line) => line.endsWith('it is damaged'))).toBe(true);
      const said = agent.told.join('\n');
      expect(said).not.toContain(CANARY);
      expect(said).not.toContain(CANARY.slice(0, 5));
      expect(said).not.toContain(CANARY64.slice(0, 6));
    }
  });
});
