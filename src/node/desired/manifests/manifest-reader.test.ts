import { readdirSync, readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { toPlainObject } from './source-object.js';
import { formatManifestProblem } from './manifest-problem.js';
import { LARGEST_MANIFEST_BYTES, type ManifestReading, readManifests } from './manifest-reader.js';

const MANIFESTS = new URL('../../../../test/manifests/', import.meta.url);
const EXAMPLES = ['pods/', 'cluster/control-plane/'].map(
  (folder) => new URL(`../../../../examples/${folder}`, import.meta.url),
);

const POD =
  'apiVersion: v1\nkind: Pod\nmetadata: { name: web }\nspec: { containers: [{ name: a, image: b }] }\n';

const read = (text: string): ManifestReading => readManifests(text, { file: 'f.yaml' });

describe('a manifest of real shape', () => {
  const files = [
    ...readdirSync(new URL('good/', MANIFESTS)).map((name) => new URL(`good/${name}`, MANIFESTS)),
    ...EXAMPLES.flatMap((folder) => readdirSync(folder).map((name) => new URL(name, folder))),
  ];

  it.each(files.map((file) => [file.pathname.split('/').at(-1)!, file] as const))('%s is read', (_, file) => {
    const reading = readManifests(readFileSync(file), { file: 'f', nodeName: 'node-1' });
    const { pods, objects, problems } = reading;
    expect(problems.map(formatManifestProblem)).toEqual([]);
    expect(pods.length + objects.length).toBeGreaterThan(0);
    for (const { object } of objects) {
      const printed = readManifests(stringify(toPlainObject(object), { version: '1.1' }), { file: 'f' });
      expect(printed.objects.map((again) => again.object)).toEqual([object]);
    }
    for (const { pod } of pods) {
      const printed = readManifests(stringify(pod, { version: '1.1' }), { file: 'f' });
      expect(printed.problems).toEqual([]);
      expect(printed.pods.map((again) => again.pod)).toEqual([pod]);
    }
  });

  it.each(readdirSync(new URL('bad/', MANIFESTS)))('%s is refused, line by line', (name) => {
    const text = readFileSync(new URL(`bad/${name}`, MANIFESTS), 'utf8');
    const expected = [...text.matchAll(/^# expect: (.*)$/gm)].map((match) => match[1]!);
    const problems = readManifests(text, { file: 'f' }).problems.map((problem) =>
      formatManifestProblem(problem).replace(/^f:/, ''),
    );
    expect(expected.length).toBeGreaterThan(0);
    const cut = problems.map((problem, index) => problem.slice(0, expected[index]?.length));
    expect(cut).toEqual(expected);
  });

  it('says of whom its problems are', () => {
    const text = readFileSync(new URL('bad/kubeadm-apiserver.yaml', MANIFESTS), 'utf8');
    for (const problem of read(text).problems) {
      expect(problem).toMatchObject({ pod: 'kube-apiserver', namespace: 'kube-system', kind: 'refused' });
    }
  });
});

describe('a file of manifests', () => {
  it('keeps its good pods beside bad ones, and says where each begins', () => {
    const { pods, problems } = read(`${POD}---\n${POD.replace('image', 'imag')}---\na: [\n---\n${POD}`);
    expect(pods.map(({ place }) => place)).toEqual([
      { file: 'f.yaml', line: 1, column: 1 },
      { file: 'f.yaml', line: 13, column: 1 },
    ]);
    expect(problems.map(({ kind, line }) => [kind, line])).toEqual([
      ['required', 9],
      ['unknown', 9],
      ['syntax', 12],
    ]);
  });

  it('may be empty', () => {
    const nothing = { pods: [], objects: [], problems: [], isEmpty: true };
    expect(read('')).toEqual(nothing);
    expect(read('# nothing\n---\n')).toEqual(nothing);
    expect(read('apiVersion: v1\nkind: List\nitems: []\n')).toEqual({ ...nothing, isEmpty: false });
  });

  it('has pods whose names leave room for the node’s', () => {
    const text = POD.replace('web', 'w'.repeat(250));
    expect(read(text).problems).toEqual([]);
    const { pods, problems } = readManifests(text, { file: 'f', nodeName: 'node-1' });
    expect(pods).toEqual([]);
    expect(problems.map(formatManifestProblem)).toEqual([
      expect.stringMatching(
        /^f:3:19: metadata\.name: Invalid value: .*at most 207 characters, and has 250: .*default_NAME-node-1_UID/,
      ),
    ]);
  });

  it('is held to the fields that its reader honours', () => {
    const text = POD.replace('spec: {', 'spec: { hostPID: true,');
    const isSupported = (_type: string, field: string): boolean => field !== 'hostPID';
    const { problems } = readManifests(text, { file: 'f.yaml', isSupported });
    expect(problems.map(formatManifestProblem)).toEqual(['f.yaml:4:9: spec.hostPID: not supported here']);
    expect(read(text).pods).toHaveLength(1);
  });

  it.each([
    [
      'too large',
      `# ${'x'.repeat(LARGEST_MANIFEST_BYTES)}`,
      'f.yaml:1:1: has more than 1048576 bytes; split it',
    ],
    [
      'UTF-16',
      new Uint8Array([0xff, 0xfe, 0x61, 0]),
      'f.yaml:1:1: is UTF-16 text, as PowerShell writes it; save it as UTF-8',
    ],
    [
      'UTF-16, big end first',
      new Uint8Array([0xfe, 0xff, 0, 0x61]),
      'f.yaml:1:1: is UTF-16 text, as PowerShell writes it; save it as UTF-8',
    ],
    ['not text', new Uint8Array([0x61, 0xff, 0x00]), 'f.yaml:1:1: is not UTF-8 text'],
    ['binary', '\x7fELF\0\0', /control characters/],
    ['a word', 'hello', 'f.yaml:1:1: must be a mapping, not "hello"'],
    ['a list', '- 1', 'f.yaml:1:1: must be a mapping, not [1]'],
    ['HTML', '<html>\n<body>404</body></html>', /^f\.yaml:1:1: must be a mapping/],
    ['lists in lists', '{apiVersion: v1, kind: List, items: ['.repeat(6) + ']}'.repeat(6), /lists in lists/],
    ['an object of another kind', 'kind: pod', /"pod" is not supported; did you mean Pod\?/],
    ['a key of no prototype', '__proto__: {}\n' + POD, /__proto__: unknown field/],
    ['an alias of itself', 'metadata: &a { labels: *a }', /stands inside of &a/],
  ])('is refused when it is %s', (_, source, message) => {
    const { pods, problems } = readManifests(source, { file: 'f.yaml' });
    expect(pods).toEqual([]);
    const [first] = problems.map(formatManifestProblem);
    expect(first).toEqual(typeof message === 'string' ? message : expect.stringMatching(message));
  });

  it('is read without throwing, whatever is changed in it', () => {
    const files = readdirSync(new URL('good/', MANIFESTS)).map((name) =>
      readFileSync(new URL(`good/${name}`, MANIFESTS), 'utf8'),
    );
    const edit = fc.record({
      ...{ at: fc.double({ min: 0, max: 1, noNaN: true }), drop: fc.nat({ max: 12 }) },
      put: fc.constantFrom(
        '',
        '{',
        '}',
        '[',
        ']',
        ':',
        ': ',
        '\n',
        '- ',
        '"',
        "'",
        '&a ',
        '*a',
        '!!x ',
        '\0',
        '~',
        '\t',
        '|',
        '---\n',
        '<<: ',
      ),
    });
    fc.assert(
      fc.property(
        fc.constantFrom(...files),
        fc.array(edit, { minLength: 1, maxLength: 4 }),
        (text, edits) => {
          let changed = text;
          for (const { at, drop, put } of edits) {
            const offset = Math.floor(at * changed.length);
            changed = changed.slice(0, offset) + put + changed.slice(offset + drop);
          }
          for (const { line, column, message } of readManifests(changed, { file: 'f' }).problems) {
            expect(line).toBeGreaterThan(0);
            expect(column).toBeGreaterThan(0);
            expect(message).not.toBe('');
          }
        },
      ),
      { numRuns: 300 },
    );
  });
});
