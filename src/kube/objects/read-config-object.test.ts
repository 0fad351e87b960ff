import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type ConfigMap, type ConfigObject, type Secret } from './config-object.js';
import { fromV1ConfigObject, toV1ConfigObject } from './config-object-json.js';
import { checkConfigObjectUpdate, hasSameContent } from './config-object-update.js';
import { formatFieldProblem } from '../fields/field-problem.js';
import { readConfigObject } from './read-config-object.js';

const head = { apiVersion: 'v1', metadata: { name: 'o' } };
const readMap = (fields: object) => readConfigObject({ ...head, kind: 'ConfigMap', ...fields }, 'ConfigMap');
const readSecret = (fields: object) => readConfigObject({ ...head, kind: 'Secret', ...fields }, 'Secret');
const text = (bytes: Uint8Array | undefined): string => Buffer.from(bytes ?? []).toString();

const MIB = 1024 * 1024;

describe('an object that is read', () => {
  it('has its entries, its namespace and its type', () => {
    const { object, name, namespace } = readSecret({
      ...{ data: { a: 'aHVudGVyMg==', b: 'eA==', none: null }, stringData: { b: 'y', __proto__x: '' } },
    });
    const { data, type, metadata } = object as Secret;
    expect([name, namespace, type, metadata.namespace]).toEqual(['o', 'default', 'Opaque', 'default']);
    expect([...data].map(([key, bytes]) => `${key}=${text(bytes)}`)).toEqual([
      ...['a=hunter2', 'b=y', 'none=', '__proto__x='],
    ]);
    const map = readMap({ immutable: true, data: { a: null, b: 'b' }, binaryData: { c: 'AA\r\nE=\n' } });
    expect(map.problems).toEqual([]);
    expect(map.object).toMatchObject({
      immutable: true,
      data: new Map([
        ['a', ''],
        ['b', 'b'],
      ]),
    });
    expect((map.object as ConfigMap).binaryData.get('c')).toEqual(new Uint8Array([0, 1]));
  });

  it.each([
    ['letters, digits and signs', 'a-B_9.conf', true],
    ['a dot in front', '.dockerconfigjson', true],
    ['two dots inside', 'a..b', true],
    ['253 characters', 'k'.repeat(253), true],
    ['254 characters', 'k'.repeat(254), false],
    ['a step up', '../../etc/passwd', false],
    ['the folder itself', '.', false],
    ['the folder above', '..', false],
    ['two dots in front', '..data', false],
    ['a slash', 'a/b', false],
    ['a space', 'a b', false],
    ['a letter of another script', 'ä', false],
    ['a line break', 'a\n', false],
    ['nothing', '', false],
  ])('may have a key with %s: %s is %s', (_, key, isFine) => {
    const entries = { [key]: 'eA==' };
    const fields = [readMap({ data: entries }), readMap({ binaryData: entries })];
    for (const { problems } of [
      ...fields,
      readSecret({ data: entries }),
      readSecret({ stringData: entries }),
    ]) {
      expect(problems.map(({ kind }) => kind)).toEqual(isFine ? [] : ['invalid']);
    }
  });

  it('has at most 1 MiB in all its values, counted decoded and not as base64', () => {
    const half = 'x'.repeat(MIB / 2);
    const base64 = Buffer.from(half).toString('base64');
    expect(readMap({ data: { a: half }, binaryData: { b: base64 } }).problems).toEqual([]);
    expect(readSecret({ data: { a: base64, b: base64 } }).problems).toEqual([]);
    expect(
      readMap({ data: { a: half, c: 'x' }, binaryData: { b: base64 } }).problems.map(formatFieldProblem),
    ).toEqual(['Invalid value: "1048577 bytes": must have at most 1048576 bytes']);
    expect(readSecret({ data: { a: base64, b: base64 }, stringData: { c: 'x' } }).problems).toHaveLength(1);
    // Bytes, not characters.
    expect(readMap({ data: { a: half, b: 'ä'.repeat(MIB / 4 + 1) } }).problems).toHaveLength(1);
  });

  it.each(['', 'AA==', 'AAA=', 'AAAA', 'AAAAAA==', 'A\nA=\n=', 'AB=='])(
    'may hold base64 like %j',
    (value) => {
      const { object } = readSecret({ data: { k: value } });
      expect((object as Secret).data.get('k')).toEqual(new Uint8Array(Buffer.from(value, 'base64')));
    },
  );

  it.each(['A', 'AA', 'AAA', 'AA=', 'AAAAA', '====', 'AA==AA==', 'A A=', 'AA-_', '=AAA', 'AA\t=='])(
    'may not hold %j as base64',
    (value) => {
      expect(readSecret({ data: { k: value } }).problems.map(formatFieldProblem)).toEqual([
        'data[k]: must be base64, with its padding; write text as it is under stringData',
      ]);
    },
  );
});

const CANARY = 'cAnArY-0815';
const CANARY64 = Buffer.from(CANARY).toString('base64');

describe('a value of a Secret', () => {
  it.each<[string, object]>([
    ['plain where base64 belongs', { data: { k: CANARY } }],
    ['data that is text', { data: CANARY }],
    ['data that is a list', { data: [CANARY] }],
    ['stringData that is a list', { stringData: [CANARY] }],
    ['a list as value', { stringData: { k: [CANARY] } }],
    ['a mapping as value', { data: { k: { v: CANARY } } }],
    ['a field that is unknown', { dta: { k: CANARY }, [`x`]: CANARY }],
    ['another spelling', { stringdata: { k: CANARY } }],
    ['the annotation of kubectl apply', { metadata: { name: 'o', annotations: { a: { data: CANARY64 } } } }],
    ['annotations that are text', { metadata: { name: 'o', annotations: CANARY } }],
    ['a key that is wrong', { stringData: { 'a/b': CANARY } }],
    [
      'docker config that is none',
      { type: 'kubernetes.io/dockerconfigjson', stringData: { '.dockerconfigjson': CANARY } },
    ],
    [
      'docker config that is cut',
      { type: 'kubernetes.io/dockercfg', stringData: { '.dockercfg': `{"a":"${CANARY}` } },
    ],
    ['the wrong entry for its type', { type: 'kubernetes.io/tls', data: { key: CANARY64 } }],
    ['too much', { stringData: { k: CANARY.repeat(MIB / 8) } }],
  ])('never appears in messages: %s', (_, fields) => {
    const { problems, object } = readSecret(fields);
    expect(object).toBeUndefined();
    expect(problems.length).toBeGreaterThan(0);
    const said = problems.map(formatFieldProblem).join('\n');
    expect(said).not.toContain(CANARY);
    expect(said).not.toContain(CANARY64);
  });
});

const key = fc.stringMatching(/^[-_a-zA-Z0-9][-._a-zA-Z0-9]{0,20}$/);
const bytes = fc.uint8Array({ maxLength: 40 });
const meta = { name: 'o', namespace: 'default' };
const configMap: fc.Arbitrary<ConfigMap> = fc
  .record({ data: fc.dictionary(key, fc.string()), binary: fc.dictionary(key, bytes), fixed: fc.boolean() })
  .map(({ data, binary, fixed }) => ({
    ...{ kind: 'ConfigMap', metadata: meta, data: new Map(Object.entries(data)) },
    binaryData: new Map(Object.entries(binary).filter(([name]) => !Object.hasOwn(data, name))),
    ...(fixed ? { immutable: true } : {}),
  }));
const secret: fc.Arbitrary<Secret> = fc
  .record({ data: fc.dictionary(key, bytes), type: fc.constantFrom('Opaque', 'example.org/x') })
  .map(({ data, type }) => ({ kind: 'Secret', metadata: meta, type, data: new Map(Object.entries(data)) }));
const anObject: fc.Arbitrary<ConfigObject> = fc.oneof(configMap, secret);

describe('any object', () => {
  it('is the same after it is written and read', () => {
    fc.assert(
      fc.property(anObject, (object) => {
        const written: unknown = JSON.parse(JSON.stringify(toV1ConfigObject(object)));
        const again = readConfigObject(written, object.kind);
        expect(again.problems).toEqual([]);
        expect(again.object).toEqual(object);
        expect(fromV1ConfigObject(toV1ConfigObject(object))).toEqual(object);
        expect(hasSameContent(again.object!, object)).toBe(true);
        expect(checkConfigObjectUpdate(object, again.object!)).toEqual([]);
      }),
    );
  });

  it('is read without throwing, and has no problems only if it is valid', () => {
    const fields = fc.record(
      {
        apiVersion: fc.constantFrom('v1', 'v2', undefined),
        ...{
          kind: fc.constantFrom('ConfigMap', 'Secret'),
          metadata: fc.oneof(fc.constant(meta), fc.anything()),
        },
        data: fc.oneof(fc.dictionary(fc.string(), fc.string()), fc.anything()),
        ...{
          binaryData: fc.anything(),
          stringData: fc.anything(),
          immutable: fc.anything(),
          type: fc.anything(),
        },
      },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(fields, fc.constantFrom('ConfigMap' as const, 'Secret' as const), (value, kind) => {
        const { object, problems } = readConfigObject(value, kind);
        expect(object === undefined).toBe(problems.length > 0);
      }),
    );
  });
});

describe('a change of an object', () => {
  const map = (data: Record<string, string>, immutable?: boolean): ConfigObject =>
    readMap({ data, ...(immutable === undefined ? {} : { immutable }) }).object!;
  const paths = (before: ConfigObject, next: ConfigObject): string[] =>
    checkConfigObjectUpdate(before, next).map(formatFieldProblem);
  const WHY = 'field is immutable when `immutable` is set; remove the object, and add it once it is gone';

  it('is rejected if it is immutable, except for labels and annotations', () => {
    const fixed = map({ a: '1' }, true);
    expect(paths(fixed, map({ a: '1' }, true))).toEqual([]);
    expect(paths(fixed, map({ a: '2' }, true))).toEqual([`data: Forbidden: ${WHY}`]);
    expect(paths(fixed, map({ a: '1', b: '' }, true))).toEqual([`data: Forbidden: ${WHY}`]);
    expect(paths(fixed, map({ b: '1' }))).toEqual([
      ...[`immutable: Forbidden: ${WHY}`, `data: Forbidden: ${WHY}`],
    ]);
    expect(
      paths(fixed, readMap({ immutable: true, data: { a: '1' }, binaryData: { b: '' } }).object!),
    ).toEqual([`binaryData: Forbidden: ${WHY}`]);
    const labels = { ...head.metadata, labels: { a: 'b' } };
    expect(paths(fixed, readMap({ immutable: true, data: { a: '1' }, metadata: labels }).object!)).toEqual(
      [],
    );
    const pin = readSecret({ immutable: true, stringData: { a: '1' } }).object!;
    expect(paths(pin, readSecret({ immutable: true, stringData: { a: '2' } }).object!)).toEqual([
      `data: Forbidden: ${WHY}`,
    ]);
  });

  it('may make it immutable, and never changes the type of a Secret', () => {
    expect(paths(map({ a: '1' }), map({ a: '2' }, true))).toEqual([]);
    expect(paths(readSecret({}).object!, readSecret({ type: 'example.org/x' }).object!)).toEqual([
      'type: Invalid value: "example.org/x": field is immutable; remove the object, and add it once it is gone',
    ]);
  });
});
