import { mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { parse, stringify } from 'yaml';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { toPlainObject } from './source-object.js';
import { forbidden } from '#kube/fields/field-problem.js';
import { type Pod } from '#kube/pod/pod.js';
import { applyPodDefaults } from '#kube/pod/pod-defaults.js';
import { toStaticPod } from '#kube/pod/static-pod.js';
import { readManifests } from './manifest-reader.js';
import { type AppliedObject, ManifestWriter } from './manifest-writer.js';

let folder: string;
let found: string | undefined;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'podloop-writer-'));
  found = undefined;
});
afterEach(async () => rm(folder, { recursive: true }));

const writer = (): ManifestWriter =>
  new ManifestWriter({
    ...{ folder, nodeName: 'node', findFile: () => found },
    findForbidden: ({ spec }) => (spec.hostPID === true ? [forbidden(['spec', 'hostPID'], 'not here')] : []),
  });
const WEB: AppliedObject = { kind: 'Pod', namespace: 'default', name: 'web' };
const pod = (image: string, more: object = {}) => ({
  ...{ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'web', creationTimestamp: null } },
  ...{ spec: { containers: [{ name: 'main', image }] }, status: {}, ...more },
});
const secret = (password: string) => ({
  ...{ apiVersion: 'v1', kind: 'Secret', metadata: { name: 'key' }, stringData: { password } },
});

const listOf = (...items: object[]) => ({ apiVersion: 'v1', kind: 'List', items });
const OTHER = { metadata: { name: 'other' } };

describe('an object that is applied', () => {
  it('gets a file of its own that only its owner may read', async () => {
    expect(await writer().apply(WEB, pod('a:1'))).toMatchObject({
      kind: 'applied',
      result: 'created',
    });
    expect(await readdir(folder)).toEqual(['default_web.pod.yaml']);
    expect((await stat(join(folder, 'default_web.pod.yaml'))).mode & 0o777).toBe(0o600);
    expect(await readFile(join(folder, 'default_web.pod.yaml'), 'utf8')).toBe(
      'apiVersion: v1\nkind: Pod\nmetadata:\n  name: web\nspec:\n  containers:\n    - name: main\n      image: a:1\n',
    );
  });

  it('is left as it is when it says the same, and changed where it stands', async () => {
    found = 'mine.json';
    await writeFile(join(folder, 'mine.json'), JSON.stringify(pod('a:1')));
    expect(await writer().apply(WEB, pod('a:1'))).toMatchObject({ result: 'unchanged' });
    expect(await writer().apply(WEB, pod('a:2'))).toMatchObject({ result: 'configured' });
    expect(await readdir(folder)).toEqual(['mine.json']);
    expect(JSON.parse(await readFile(join(folder, 'mine.json'), 'utf8'))).toMatchObject({
      spec: { containers: [{ image: 'a:2' }] },
    });
  });

  it('is the pod of a manifest when it is that as this node shows it', async () => {
    const labels = { app: 'web' };
    await writer().apply(WEB, { ...pod('a:1'), metadata: { name: 'web', labels } });
    const text = await readFile(join(folder, 'default_web.pod.yaml'), 'utf8');
    const written = { ...pod('a:1'), metadata: { name: 'web', labels } } as unknown as Pod;
    const { pod: shown } = toStaticPod(written, { source: 'file', nodeName: 'node' });
    const served = {
      ...shown,
      metadata: { ...shown.metadata, creationTimestamp: '2026-01-02T03:04:05Z', resourceVersion: '7' },
      status: { phase: 'Running' },
    };
    const object = { ...WEB, name: 'web-node' };
    expect(await writer().apply(object, served)).toMatchObject({ result: 'unchanged' });
    expect(await readFile(join(folder, 'default_web.pod.yaml'), 'utf8')).toBe(text);
    const edited = { ...served, spec: { ...served.spec, containers: [{ name: 'main', image: 'a:2' }] } };
    expect(await writer().apply(object, edited)).toMatchObject({ result: 'configured' });
    expect(await readdir(folder)).toEqual(['default_web.pod.yaml']);
    const after = parse(await readFile(join(folder, 'default_web.pod.yaml'), 'utf8')) as Pod;
    expect(after.metadata).toEqual({ name: 'web', labels });
    expect(after.spec).toMatchObject({ containers: [{ image: 'a:2' }] });
    expect(after.spec).not.toHaveProperty('nodeName');
  });

  it('keeps its name when another node shows it, or nobody', async () => {
    const elsewhere = toStaticPod(pod('a:1') as unknown as Pod, { source: 'file', nodeName: 'other' }).pod;
    await writer().apply({ ...WEB, name: 'web-other' }, elsewhere);
    const named = { ...pod('a:1'), metadata: { name: 'web-node' } };
    await writer().apply({ ...WEB, name: 'web-node' }, named);
    expect((await readdir(folder)).sort()).toEqual([
      'default_web-node.pod.yaml',
      'default_web-other.pod.yaml',
    ]);
  });

  it('is not written when the node does not let it run', async () => {
    const outcome = await writer().apply(WEB, pod('a:1', { spec: { ...pod('a:1').spec, hostPID: true } }));
    expect(outcome).toMatchObject({ kind: 'forbidden', problems: [{ message: 'Forbidden: not here' }] });
    expect(await readdir(folder)).toEqual([]);
  });

  it('says the same when it is read, whatever its words would mean to YAML', async () => {
    const odd = [
      ...[
        'y',
        'no',
        'On',
        '~',
        'null',
        'true',
        '=',
        '<<',
        '-',
        '',
        ' x ',
        '# x',
        'a: b',
        '- a',
        '*a',
        '!a',
        '%a',
      ],
      ...[
        '0777',
        '0o17',
        '1_000',
        '1:20',
        '1e3',
        '.5',
        '.inf',
        '0b1',
        '0x1f',
        '2001-01-01',
        'a\nb\n',
        '\t',
        'ä',
      ],
    ];
    const data = Object.fromEntries(odd.map((text, index) => [`k${index}`, text]));
    const object: AppliedObject = { kind: 'ConfigMap', namespace: 'default', name: 'odd' };
    const labels = { y: 'y', on: 'no', '1': '1', '0o17': '0o17' };
    const value = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'odd', labels }, data };
    expect(await writer().apply(object, value)).toMatchObject({ result: 'created' });
    const text = await readFile(join(folder, 'default_odd.configmap.yaml'), 'utf8');
    const { objects, problems } = readManifests(text, { file: 'odd.yaml', nodeName: 'node' });
    expect(problems).toEqual([]);
    expect(toPlainObject(objects[0]!.object)).toMatchObject({ metadata: { labels }, data });
  });

  it('is written once by two who apply it at the same time', async () => {
    const both = writer();
    const results = await Promise.all([both.apply(WEB, pod('a:1')), both.apply(WEB, pod('a:1'))]);
    expect(results.map((each) => each.kind === 'applied' && each.result)).toEqual(['created', 'unchanged']);
  });

  it('is not written when that is only tried, or when it is wrong', async () => {
    expect(await writer().apply(WEB, pod('a:1'), { isDryRun: true })).toMatchObject({ result: 'created' });
    const wrong = await writer().apply(WEB, pod('a:1', { spec: { containers: [{ name: 'main' }], foo: 1 } }));
    expect(wrong).toMatchObject({
      kind: 'invalid',
      problems: [{ path: 'spec.containers[0].image' }, { path: 'spec.foo', kind: 'unknown' }],
    });
    expect(await readdir(folder)).toEqual([]);
  });

  it('is changed within a file of several YAML documents, which else stays as it is', async () => {
    found = 'shared.yaml';
    const file = join(folder, 'shared.yaml');
    const [config, last] = ['# settings\napiVersion: v1\n', '--- # the last\n'].map(
      (head) => `${head}kind: ConfigMap\n`,
    );
    const before = `${config}metadata: { name: one }\n---\n# the web server\n`;
    const after = `${last}apiVersion: v1\nmetadata:\n  name: two # of two\n`;
    await writeFile(file, `${before}${JSON.stringify(pod('a:1'))}\n${after}`, { mode: 0o640 });
    expect(await writer().apply(WEB, pod('a:1'))).toMatchObject({ result: 'unchanged' });
    expect(await writer().apply(WEB, pod('a:1'), { mustBeNew: true })).toEqual({ kind: 'exists' });
    expect(await writer().apply(WEB, pod('a:2'), { isDryRun: true })).toMatchObject({ result: 'configured' });
    expect(await readFile(file, 'utf8')).toContain('a:1');
    expect(await writer().apply(WEB, pod('a:2'))).toMatchObject({ result: 'configured' });
    const text = await readFile(file, 'utf8');
    expect(text.startsWith(before) && text.endsWith(after)).toBe(true);
    expect(text).toContain('image: a:2');
    expect((await stat(file)).mode & 0o777).toBe(0o640);
    expect(await readdir(folder)).toEqual(['shared.yaml']);
  });

  it('keeps its comments, and has nothing of the agent’s defaults, when one thing of it changes', async () => {
    found = 'mine.yaml';
    const file = join(folder, 'mine.yaml');
    const text = `# the web server
apiVersion: v1
kind: Pod
metadata: { name: web }
spec:
  containers:
  - name: main # the only one
    image: a:1 # pinned
`;
    await writeFile(file, text);
    const { pod: shown } = toStaticPod(applyPodDefaults(parse(text) as Pod), {
      source: 'file',
      nodeName: 'node',
    });
    const labelled = { ...shown, metadata: { ...shown.metadata, labels: { tier: 'web' } } };
    const object = { ...WEB, name: 'web-node' };
    expect(await writer().apply(object, labelled)).toMatchObject({ result: 'configured' });
    const now = text.replace('{ name: web }', '{ name: web, labels: { tier: web } }');
    expect(parse(await readFile(file, 'utf8'))).toEqual(parse(now));
    expect(await readFile(file, 'utf8')).toContain('image: a:1 # pinned\n');
    const containers = [{ ...shown.spec.containers[0]!, image: 'a:2' }];
    expect(await writer().apply(object, { ...labelled, spec: { ...shown.spec, containers } })).toMatchObject({
      result: 'configured',
    });
    expect(parse(await readFile(file, 'utf8'))).toEqual(parse(now.replace('a:1', 'a:2')));
    expect(await readFile(file, 'utf8')).toContain(
      '  - name: main # the only one\n    image: a:2 # pinned\n',
    );
  });

  it.each(['List', 'PodList'])('is changed in a %s, whose other items stay', async (kind) => {
    found = 'shared.yaml';
    const file = join(folder, 'shared.yaml');
    const text = `kind: ${kind}
apiVersion: v1
items:
- kind: Pod
  apiVersion: v1
  metadata: {name: other} # not this one
  spec: {containers: [{name: main, image: "a:1"}]}
- kind: Pod
  apiVersion: v1
  metadata: {name: web} # this one
  spec:
    containers:
    - {name: main, image: "a:1"}
`;
    await writeFile(file, text);
    expect(await writer().apply(WEB, pod('a:1'))).toMatchObject({ result: 'unchanged' });
    expect(await writer().apply(WEB, pod('a:2'), { isDryRun: true })).toMatchObject({ result: 'configured' });
    expect(await readFile(file, 'utf8')).toBe(text);
    expect(await writer().apply(WEB, pod('a:2'))).toMatchObject({ result: 'configured' });
    const after = await readFile(file, 'utf8');
    expect(parse(after)).toEqual(parse(text.replace(/a:1(?=[^1]*$)/, 'a:2')));
    expect(after).toContain('# not this one\n');
    expect(after).toContain('# this one\n');
  });

  it.each([
    [
      'another object on the same line',
      `--- ${JSON.stringify(secret('x'))}\n---\n${JSON.stringify(pod('a:1'))}`,
    ],
    ['something that is no manifest', 'hello: ['],
    ['another object', JSON.stringify({ ...pod('a:1'), metadata: { name: 'other' } })],
    ['a list with anchors', `kind: List\napiVersion: v1\nitems: [&a ${JSON.stringify(pod('a:1'))}, *a]`],
    ['nothing', ''],
  ])('is not written over a file that holds %s', async (what, text) => {
    found = 'shared.yaml';
    await writeFile(join(folder, 'shared.yaml'), text);
    expect(await writer().apply(WEB, pod('a:2'))).toEqual({
      kind: 'in the way',
      file: join(folder, 'shared.yaml'),
      holds: { nothing: 'nothing', 'something that is no manifest': 'errors' }[what] ?? 'others',
    });
    expect(await readFile(join(folder, 'shared.yaml'), 'utf8')).toBe(text);
  });

  it('may be a Secret, whose values are in no problem', async () => {
    const key: AppliedObject = { kind: 'Secret', namespace: 'default', name: 'key' };
    expect(await writer().apply(key, secret('swordfish'))).toMatchObject({ result: 'created' });
    expect(await writer().apply(key, secret('swordfish'))).toMatchObject({ result: 'unchanged' });
    expect(await writer().apply(key, secret('other'))).toMatchObject({ result: 'configured' });
    const wrong = { ...secret('swordfish'), data: { 'a/b': 'swordfish' } };
    const outcome = await writer().apply(key, wrong);
    expect(outcome.kind).toBe('invalid');
    expect(JSON.stringify(outcome)).not.toContain('swordfish');
  });

  it('has a file name that no file system refuses', async () => {
    const namespace = 'a'.repeat(63);
    // A pod's name is shorter, for the sake of the folder of its logs.
    const name = [namespace, namespace, namespace, 'b'.repeat(50)].join('.');
    const long = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace }, data: { key: 'a' } };
    const object: AppliedObject = { kind: 'ConfigMap', namespace, name };
    expect(await writer().apply(object, long)).toMatchObject({ result: 'created' });
    expect(await writer().apply(object, long)).toMatchObject({ result: 'unchanged' });
    expect((await readdir(folder))[0]!.length).toBeLessThan(255);
  });
});

describe('an object that is to go', () => {
  const KEY: AppliedObject = { kind: 'Secret', namespace: 'default', name: 'key' };

  it('goes with its file, wherever it stands', async () => {
    await writer().apply(KEY, secret('x'));
    expect(await writer().remove(KEY, false)).toEqual({ kind: 'removed' });
    expect(await writer().remove(KEY, false)).toEqual({ kind: 'not there' });
    found = 'mine.json';
    const file = join(folder, 'mine.json');
    await writeFile(file, JSON.stringify(secret('x')));
    const wouldBe = `its manifest ${file} would be removed`;
    expect(await writer().remove(KEY, true)).toEqual({ kind: 'removed', note: wouldBe });
    expect(await readdir(folder)).toEqual(['mine.json']);
    const note = `its manifest ${file} was removed`;
    expect(await writer().remove(KEY, false)).toEqual({ kind: 'removed', note });
    expect(await readdir(folder)).toEqual([]);
  });

  it('goes out of a file of several YAML documents, and with the file when it is the last', async () => {
    found = 'shared.yaml';
    const file = join(folder, 'shared.yaml');
    const web = `# web\n${JSON.stringify(pod('a:1'))}\n`;
    await writeFile(file, `${web}---\n# the key\n${JSON.stringify(secret('x'))}\n`);
    const wouldBe = `its manifest would be cut out of ${file}`;
    expect(await writer().remove(KEY, true)).toEqual({ kind: 'removed', note: wouldBe });
    expect(await readFile(file, 'utf8')).toContain('Secret');
    const cutOut = { kind: 'removed', note: `its manifest was cut out of ${file}` };
    expect(await writer().remove(KEY, false)).toEqual(cutOut);
    expect(await readFile(file, 'utf8')).toBe(web);
    expect(await writer().remove(WEB, false)).toEqual({
      kind: 'removed',
      note: `its manifest ${file} was removed`,
    });
    expect(await readdir(folder)).toEqual([]);
  });

  it.each([
    ['a list within a list', JSON.stringify(listOf(listOf(pod('a:1'), secret('x')), pod('a:1', OTHER)))],
    ['something else on a line', `--- ${JSON.stringify(pod('a:1'))}\n--- ${JSON.stringify(secret('x'))}`],
    ['another one', JSON.stringify({ ...secret('x'), metadata: { name: 'other' } })],
    ['what cannot be read', 'hello: ['],
  ])('stays in a file that holds %s', async (what, text) => {
    found = 'shared.yaml';
    await writeFile(join(folder, 'shared.yaml'), text);
    const file = join(folder, 'shared.yaml');
    const holds = what === 'what cannot be read' ? 'errors' : 'others';
    expect(await writer().remove(KEY, false)).toEqual({ kind: 'in the way', file, holds });
    expect(await readFile(file, 'utf8')).toBe(text);
  });

  it.each([
    ['JSON', JSON.stringify(listOf(pod('a:1'), secret('x')))],
    ['YAML', `# mine\n${stringify(listOf(pod('a:1'), secret('x')))}`],
    [
      'a document',
      `# before\nkind: ConfigMap\napiVersion: v1\nmetadata: { name: one }\n---\n${stringify(listOf(secret('x'), pod('a:1')))}`,
    ],
  ])('goes out of a List, and with it when it is the last: %s', async (_what, text) => {
    found = 'shared.yaml';
    const file = join(folder, 'shared.yaml');
    await writeFile(file, text);
    const wouldBe = `its manifest would be cut out of ${file}`;
    expect(await writer().remove(KEY, true)).toEqual({ kind: 'removed', note: wouldBe });
    expect(await readFile(file, 'utf8')).toBe(text);
    const note = `its manifest was cut out of ${file}`;
    expect(await writer().remove(KEY, false)).toEqual({ kind: 'removed', note });
    const rest = await readFile(file, 'utf8');
    expect(rest).not.toContain('Secret');
    expect(rest.startsWith('#')).toBe(text.startsWith('#'));
    expect(await writer().apply(WEB, pod('a:2'))).toMatchObject({ result: 'configured' });
    expect(await readFile(file, 'utf8')).toContain('a:2');
    expect(await writer().remove(WEB, false)).toMatchObject({ kind: 'removed' });
    found = undefined;
    expect(await writer().remove(WEB, false)).toEqual({ kind: 'not there' });
  });

  it.each([
    ['a comment', (text: string) => `# mine\n${text}`, 'its manifest FILE was removed'],
    [
      'another document',
      (text: string) => `${text}---\n${JSON.stringify(pod('a:1'))}\n`,
      'its manifest was cut out of FILE',
    ],
  ])(
    'goes with a word out of the writer’s own file to which somebody has added %s',
    async (_what, edit, note) => {
      await writer().apply(KEY, secret('x'));
      const file = join(folder, (await readdir(folder))[0]!);
      await writeFile(file, edit(await readFile(file, 'utf8')));
      expect(await writer().remove(KEY, false)).toEqual({
        kind: 'removed',
        note: note.replace('FILE', file),
      });
    },
  );

  it('goes without a word out of a file that the writer has written and changed', async () => {
    await writer().apply(WEB, pod('a:1'));
    await writer().apply(WEB, pod('a:2'));
    expect(await writer().remove(WEB, false)).toEqual({ kind: 'removed' });
    // Written as JSON, as YAML of some programs reads it otherwise.
    await writer().apply(KEY, secret('2026-12-01T00:00:00Z'));
    expect(await writer().remove(KEY, false)).toEqual({ kind: 'removed' });
  });

  it('is not written on a full disk, which is said', async () => {
    const both = writer();
    await both.apply(WEB, pod('a:1'));
    const [file = ''] = await readdir(folder);
    const other = file.replace('web', 'other');
    await symlink('/dev/full', join(folder, `${other}.tmp`));
    const object = { ...WEB, name: 'other' };
    await expect(both.apply(object, { ...pod('a:1'), metadata: { name: 'other' } })).rejects.toMatchObject({
      code: 'FOLDER_UNUSABLE',
      message: `the folder of manifests ${folder} cannot be used: ENOSPC: no space left on device, write '${join(folder, other)}'`,
    });
    expect(await readdir(folder)).toEqual([file]);
  });

  it('is looked for in the folder alone, whatever it is called', async () => {
    const outside = `${folder}-outside.secret.yaml`;
    await writeFile(outside, '{}');
    try {
      const name = `x/../../${basename(folder)}-outside`;
      expect(await writer().remove({ ...KEY, name }, false)).toEqual({ kind: 'not there' });
      expect(await writer().remove({ ...KEY, name: 'a\0b' }, false)).toEqual({ kind: 'not there' });
      expect(await readFile(outside, 'utf8')).toBe('{}');
    } finally {
      await rm(outside);
    }
  });

  it('goes after what was asked for before', async () => {
    const both = writer();
    const [, removed] = await Promise.all([both.apply(KEY, secret('x')), both.remove(KEY, false)]);
    expect(removed).toEqual({ kind: 'removed' });
    expect(await readdir(folder)).toEqual([]);
  });
});
