import fc from 'fast-check';
import { parse } from 'yaml';
import { describe, expect, it } from 'vitest';
import { editManifest } from './edit-manifest.js';

const TEXT = `# The shop.
apiVersion: v1
kind: Pod
metadata:
  name: web # as in DNS
  labels: { app: shop }

spec:
  # One is enough.
  containers:
  - name: main
    image: shop:1 # pinned
    args: ["on", 'yes', 010]
  - name: log
    image: log:1   # from the registry
    env:
    - {name: A, value: "1"}
`;
const BEFORE = {
  ...{
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'web', labels: { app: 'shop' }, namespace: 'default' },
  },
  spec: {
    restartPolicy: 'Always',
    containers: [
      { name: 'main', image: 'shop:1', args: ['on', 'yes', '010'], imagePullPolicy: 'IfNotPresent' },
      { name: 'log', image: 'log:1', env: [{ name: 'A', value: '1' }], imagePullPolicy: 'IfNotPresent' },
    ],
  },
};
type Mutable = Record<string, never> & {
  metadata: Record<string, object>;
  spec: Record<string, unknown> & { containers: Record<string, unknown>[] };
};
function edit(mutate: (after: Mutable) => void, text = TEXT) {
  const after = structuredClone(BEFORE) as unknown as Mutable;
  mutate(after);
  return editManifest(text, { item: undefined, before: BEFORE, after });
}

describe('a manifest that is changed in one place', () => {
  it('is otherwise as it was written: comments, quotes, the order of fields, and nothing by default', () => {
    const text = edit((after) => {
      after.metadata['labels'] = { app: 'shop', tier: 'on' };
      after.spec.containers[0]!['image'] = 'shop:2';
    });
    expect(text).toBe(
      TEXT.replace('{ app: shop }', '{ app: shop, tier: "on" }')
        .replace('shop:1 # pinned', 'shop:2 # pinned')
        .replace('["on", \'yes\', 010]', '[ "on", \'yes\', 010 ]')
        .replace('log:1   #', 'log:1 #')
        .replace('{name: A, value: "1"}', '{ name: A, value: "1" }'),
    );
  });

  it('finds containers by their names, wherever they are now', () => {
    const text = edit((after) => {
      after.spec.containers.reverse();
      after.spec.containers.push({ name: 'new', image: 'new:1' });
      after.spec.containers[1]!['image'] = 'shop:2';
    })!;
    expect(text).toContain('    image: shop:2 # pinned\n');
    expect(text).toContain('    image: log:1 # from the registry\n');
    const { spec } = parse(text) as typeof BEFORE;
    expect(spec.containers.map(({ name }) => name)).toEqual(['log', 'main', 'new']);
  });

  it('loses what is taken out, and gets what it had by default when that becomes something else', () => {
    const text = edit((after) => {
      after.spec['restartPolicy'] = 'Never';
      delete after.spec.containers[1]!['env'];
    })!;
    expect(text).toContain('  restartPolicy: Never\n');
    expect(text).not.toContain('env:');
    expect(text).toContain('# One is enough.');
  });

  it.each([
    ['anchors', 'a: &x { b: 1 }\nc: *x\n'],
    ['several documents', 'a: 1\n---\nb: 1\n'],
    ['errors', 'a: [1\n'],
    ['other ends of lines', 'a: 1\r\n'],
    ['nothing in it', '# nothing\n'],
    ['JSON', '{"a": 1}'],
  ])('is none with %s: it is written as a whole', (_what, text) => {
    expect(editManifest(text, { item: undefined, before: { a: 1 }, after: { a: 2 } })).toBeUndefined();
  });

  it('says what was meant, whatever its words would mean to YAML (property)', () => {
    const word = fc.oneof(
      fc.constantFrom('y', 'no', '~', '1_0', '0x1', '', ' x', 'a: b', '# x', 'a\nb\n', '- a', '1:20'),
      fc.string(),
    );
    const value = fc.oneof(
      word,
      fc.integer(),
      fc.boolean(),
      fc.dictionary(word, word, { maxKeys: 3 }),
      fc.array(word, { maxLength: 3 }),
    );
    fc.assert(
      fc.property(
        fc.dictionary(word, value, { maxKeys: 4 }),
        fc.dictionary(word, value, { maxKeys: 4 }),
        (before, after) => {
          const text = editManifest('# first\nkeep: "me" # last\n', {
            item: undefined,
            before: { keep: 'me' },
            after: { ...before, keep: 'me' },
          })!;
          const again = editManifest(text, {
            item: undefined,
            before: { ...before, keep: 'me' },
            after: { ...after, keep: 'me' },
          })!;
          expect(again).toMatch(/^# first\nkeep: "me" # last\n/);
          expect(parse(again, { schema: 'yaml-1.1' })).toEqual({ ...after, keep: 'me' });
        },
      ),
      { numRuns: 200 },
    );
  });
});

describe('an item of a List', () => {
  const LIST = '# Both.\nkind: List\nitems:\n- a: 1 # one\n- a: 2 # two\n';
  it('is changed or taken out without the others', () => {
    expect(editManifest(LIST, { item: 1, before: { a: 2 }, after: { a: 3 } })).toBe(
      LIST.replace('a: 2', 'a: 3'),
    );
    expect(editManifest(LIST, { item: 0, before: { a: 1 }, after: undefined })).toBe(
      LIST.replace('- a: 1 # one\n', ''),
    );
    const json = '{"kind":"List","items":[{"a":1},{"a":2}]}';
    const changed = editManifest(json, { item: 1, before: { a: 2 }, after: { a: 3 } })!;
    expect(JSON.parse(changed)).toEqual({ kind: 'List', items: [{ a: 1 }, { a: 3 }] });
    expect(JSON.parse(editManifest(json, { item: 0, before: { a: 1 }, after: undefined })!)).toEqual({
      ...{ kind: 'List', items: [{ a: 2 }] },
    });
  });
});
