/**
 * Changes a pod in one place, in all the ways in which people, templates and programs get a field wrong, or right in an
 * unusual way. In: a seed and the tables of fields. Out: texts in JSON, each with what was changed. The same seed number
 * gives the same texts in the same order.
 *
 * @module
 */
import { createSeededRandom } from '../../src/proxy/chaos/faults/seeded-random.js';
import { type FieldFacts, type FieldType } from '#kube/fields/field-facts.js';
import { POD_TABLES } from '#kube/pod/pod-fields.js';
import { type Json } from './seed-pods.js';

/** A pod with one thing changed. */
export interface Mutation {
  /** Which seed, where, and what: `WEB spec.containers.0.image = ""`. */
  readonly name: string;
  readonly text: string;
}

type Step = string | number;

/** A number that JavaScript cannot hold, as it is to stand in the text. */
const literal = (digits: string): string => `@@${digits}@@`;
const LITERALS = /"@@([^"]*)@@"/g;
/** Takes the field away. */
const REMOVED = Symbol('removed');
type Change = Json | typeof REMOVED;

const ANY: readonly Change[] = [REMOVED, null, '', [], {}, 0, true, 1.5, 'text', ['x'], { a: 'b' }];

const WORDS: readonly string[] = [
  ...[' x', 'x ', 'a b', '\t', 'x\n', 'a\u0000b', 'a\u0007b', 'é', '日本', 'a\u{1F600}', '\u0085', '\u00A0x'],
  ...[
    'X',
    'Abc',
    'a_b',
    '_a',
    'a-',
    '-a',
    'a.b',
    '.a',
    'a.',
    'a..b',
    'a--b',
    'a.b.c',
    '0',
    '9a',
    '123',
    '1.5',
  ],
  ...[
    '.',
    '..',
    '...',
    '/',
    '//',
    '/a',
    'a/b',
    'a/b/c',
    '/a/b',
    'a/',
    '../a',
    'a/../b',
    './a',
    'a/..',
    '..a',
  ],
  ...['a:b', 'a=b', 'a,b', '*', '*.a', '$(X)', '$X', '%61', '#', '~', 'true', 'null', "a'b", 'a"b', 'a\\b'],
  ...['1.2.3.4', '010.0.0.1', '1.2.3', '::1', '::', '::ffff:1.2.3.4', 'fe80::1%eth0', 'FD00::1', '1.2.3.4/8'],
  ...['::1.2.3.4', '0.0.0.0', '256.1.1.1', '1::2::3', '01:2::3', '224.0.0.1', '127.0.0.1', 'localhost'],
  ...['a'.repeat(15), 'a'.repeat(16), 'a'.repeat(63), 'a'.repeat(64), 'a'.repeat(65), 'a'.repeat(253)],
  ...['a'.repeat(254), `${'a'.repeat(63)}.${'b'.repeat(63)}`, `${'a'.repeat(64)}.b`, 'a'.repeat(2049)],
  ...['example.org/name', 'Example.org/name', 'example.org/', '/name', 'a/b_c', `${'a'.repeat(254)}/b`],
  ...['CAP_SYS_ADMIN', 'SYS_ADMIN', 'ALL', 'SIGTERM', 'SIGKILL', 'sigterm', 'TERM', 'SIGRTMIN+3', 'v1', 'v2'],
  ...[
    'metadata.name',
    'metadata.labels',
    "metadata.labels['a b']",
    "metadata.annotations['A/b']",
    'status.podIP',
  ],
  ...["metadata.labels['']", 'metadata.uid', 'spec.nodeName', 'spec.serviceAccountName', 'status.hostIPs'],
  ...[
    'limits.cpu',
    'requests.memory',
    'limits.hugepages-2Mi',
    'limits.example.org/gpu',
    'cpu',
    'limits.',
    'pods',
  ],
  ...[
    'net.core.somaxconn',
    'net/core/somaxconn',
    'kernel.shmmax',
    'kernel.msgmax',
    'fs.mqueue.msg_max',
    'a.*',
  ],
  ...['localhost/x', 'runtime/default', 'unconfined', 'system-cluster-critical', 'default', 'kube-system'],
  ...['http', 'HTTP', 'https', 'tcp', 'Tcp', 'Linux', 'always', 'Lt', 'Gt', 'In', 'Exists', 'Equal', 'NotIn'],
  ...[
    'NoExecute',
    'NoSchedule',
    'metadata.namespace',
    'X-A',
    'x y',
    'x.y',
    'x_y',
    'a+b',
    'a;b',
    'é:b',
    'Host',
  ],
];

const NUMBERS: readonly Json[] = [
  ...[-1, 0, 1, 2, 3, 100, 101, 255, 511, 512, 600, 65534, 65535, 65536, 99999, 2000000000, 2000001000],
  ...[2147483646, 2147483647, 2147483648, -2147483648, -2147483649, 4294967295, 4294967296],
  ...['9007199254740991', '9007199254740992', '9223372036854775807', '9223372036854775808'].map(literal),
  ...['-9223372036854775808', '-9223372036854775809', '1.0', '1e3', '1E2', '-0', '0.5', '1e400'].map(literal),
  ...['5', '0', '-1', 'http', '80', '080', '0x10'],
];

const QUANTITIES: readonly Json[] = [
  ...[
    '0',
    '1',
    '-1',
    '+1',
    '1.5',
    '.5',
    '5.',
    '0.001',
    '0.0001',
    '1e3',
    '1E3',
    '1e-3',
    '1E',
    '1e',
    '1m',
    '1n',
    '1u',
  ],
  ...[
    '1k',
    '1K',
    '1Ki',
    '1ki',
    '1M',
    '1Mi',
    '3Mi',
    '4Mi',
    '1Gi',
    '1gi',
    '1G',
    '1T',
    '1P',
    '1Ei',
    '1E1',
    '1e999',
  ],
  ...[
    '9223372036854775807',
    '9223372036854775808',
    '99999999999999999999',
    '1_000',
    '1,5',
    ' 1',
    '1 ',
    '1 Gi',
    '0x1',
  ],
  ...['--1', '1.1.1', 'Inf', 'NaN', '0Ki', '-0', '00', '01', '1ee3', '1e+3', '100Gi', '10'],
  ...[0, 1, 2, -1, 1.5, 0.5, 1e9, literal('1e3'), literal('9223372036854775808')],
];

const KEYS: readonly string[] = [
  ...[
    'cpu',
    'memory',
    'ephemeral-storage',
    'storage',
    'pods',
    'hugepages-2Mi',
    'hugepages-3Mi',
    'hugepages-x',
  ],
  ...[
    'hugepages-',
    'hugepages-1Gi',
    'example.org/gpu',
    'requests.cpu',
    'kubernetes.io/batch-cpu',
    'attachable-x',
  ],
  ...[
    'container.apparmor.security.beta.kubernetes.io/nope',
    'container.apparmor.security.beta.kubernetes.io/',
  ],
  ...['container.apparmor.security.beta.kubernetes.io/nginx', 'seccomp.security.alpha.kubernetes.io/pod'],
  ...[
    'scheduler.alpha.kubernetes.io/tolerations',
    'kubernetes.io/config.mirror',
    'controller.kubernetes.io/pod-deletion-cost',
  ],
];

/** Every mutation of a seed, at every place. */
function mutationsOf(seedName: string, seed: Json): Mutation[] {
  const found = new Map<string, Mutation>();
  const unchanged = write(seed);
  const add = (path: readonly Step[], change: Change, said: string): void => {
    const text = write(withChange(seed, path, change));
    if (text !== unchanged && !found.has(text)) {
      found.set(text, { name: `${seedName} ${path.join('.')} ${said}`, text });
    }
  };
  visit(seed, { kind: 'object', name: 'Pod' }, [], (value, type, path) => {
    for (const change of changesOf(value, type)) add(path, change, `= ${say(change)}`);
    if (Array.isArray(value)) {
      if (value.length > 0) {
        add(path, [...value, value[0]!], '+ its first item');
        add(path, [...value].reverse(), 'reversed');
        add(path, [...value, null], '+ null');
        add(path, [...value, ''], '+ ""');
        add(path, [...value, {}], '+ {}');
        add(
          path,
          Array.from({ length: 40 }, () => value[0]!),
          '* 40',
        );
      }
      return;
    }
    if (typeof value !== 'object' || value === null) return;
    if (type?.kind === 'object') addFields(value, POD_TABLES[type.name]!, path, add);
    else if (type?.kind === 'map') {
      for (const key of [...WORDS, ...KEYS]) add([...path, key], Object.values(value)[0] ?? 'v', '(added)');
    }
    for (const [key, item] of Object.entries(value)) {
      const rest = Object.fromEntries(Object.entries(value).filter(([name]) => name !== key));
      const renamed = [key.toUpperCase(), `${key[0]!.toUpperCase()}${key.slice(1)}`, `${key}s`];
      for (const name of renamed) add(path, { ...rest, [name]: item }, `${key} as ${name}`);
    }
  });
  return [...found.values()];
}

/** `count` mutations of all seeds, the same for the same number. */
export function sampleMutations(
  seeds: Readonly<Record<string, Json>>,
  count: number,
  seedNumber: number,
): Mutation[] {
  const all = Object.entries(seeds).flatMap(([name, seed]) => mutationsOf(name, seed));
  const random = createSeededRandom(seedNumber, 'mutations');
  const order = all.map((mutation) => ({ mutation, rank: random() }));
  order.sort((one, other) => one.rank - other.rank);
  return order.slice(0, count).map(({ mutation }) => mutation);
}

/** JSON, with numbers of any size. */
function write(value: Json): string {
  return JSON.stringify(value).replace(LITERALS, '$1');
}

type Visitor = (value: Json, type: FieldType | undefined, path: readonly Step[]) => void;

function visit(value: Json, type: FieldType | undefined, path: readonly Step[], visitor: Visitor): void {
  visitor(value, type, path);
  if (Array.isArray(value)) {
    const of = type?.kind === 'list' ? type.of : undefined;
    for (const [index, item] of value.entries()) visit(item, of, [...path, index], visitor);
  } else if (typeof value === 'object' && value !== null) {
    for (const [key, item] of Object.entries(value)) {
      visit(item, innerType(type, key), [...path, key], visitor);
    }
  }
}

function innerType(type: FieldType | undefined, key: string): FieldType | undefined {
  if (type?.kind === 'map') return type.of;
  return type?.kind === 'object' ? POD_TABLES[type.name]?.[key]?.type : undefined;
}

function changesOf(value: Json, type: FieldType | undefined): readonly Change[] {
  switch (type?.kind) {
    case 'enum':
      return [...ANY, ...type.words.flatMap((word) => [word, word.toLowerCase(), ` ${word}`, `${word}s`])];
    case 'string':
      return [...ANY, ...WORDS, ...(typeof value === 'string' ? variantsOf(value) : [])];
    case 'int32':
    case 'int64':
      return [...ANY, ...NUMBERS];
    case 'intOrString':
      return [...ANY, ...NUMBERS, ...WORDS];
    case 'quantity':
      return [...ANY, ...QUANTITIES];
    case 'boolean':
      return [...ANY, false, 'true', 'false', 1];
    default:
      return ANY;
  }
}

function variantsOf(text: string): string[] {
  return [text.toUpperCase(), ` ${text}`, `${text} `, `${text}\n`, `${text}.`, `/${text}`, `${text}:x`];
}

function addFields(
  value: { readonly [key: string]: Json },
  table: Readonly<Record<string, FieldFacts>>,
  path: readonly Step[],
  add: (path: readonly Step[], change: Change, said: string) => void,
): void {
  for (const [name, { type }] of Object.entries(table)) {
    if (Object.hasOwn(value, name)) continue;
    for (const change of [...plausible(type, 2), null, '', [], {}, [{}], [null]]) {
      add([...path, name], change, `= ${say(change)} (added)`);
    }
  }
  add([...path, 'nope'], 'x', 'added');
  add([...path, 'kind2'], null, 'added');
}

/** Values that a field of this type may have. */
function plausible(type: FieldType, depth: number): Json[] {
  switch (type.kind) {
    case 'enum':
      return [...type.words, ''];
    case 'string':
      return ['a', 'A b', 'default', '/a'];
    case 'int32':
    case 'int64':
      return [0, 1, 30, -1];
    case 'intOrString':
      return [80, 'http'];
    case 'quantity':
      return ['1', '1Gi', '0.5', '-1'];
    case 'boolean':
      return [true, false];
    case 'list':
      return depth === 0 ? [] : plausible(type.of, depth - 1).map((item) => [item]);
    case 'map':
      return plausible(type.of, 0).flatMap((item): Json[] => [{ cpu: item }, { 'a b': item }]);
    case 'object':
      return depth === 0 ? [{}] : plausibleObjects(type.name, depth - 1);
    case 'any':
      return [{}, 'x', { name: 'x' }, [{ name: 'x' }]];
  }
}

function plausibleObjects(name: string, depth: number): Json[] {
  const table = POD_TABLES[name]!;
  const firstOf = ({ type }: FieldFacts): Json => plausible(type, depth)[0] ?? 'x';
  const needed = Object.fromEntries(
    Object.entries(table)
      .filter(([, facts]) => facts.required)
      .map(([field, facts]): [string, Json] => [field, firstOf(facts)]),
  );
  const each = Object.entries(table).map(([field, facts]): Json => ({ ...needed, [field]: firstOf(facts) }));
  return [needed, ...each];
}

function withChange(value: Json, [step, ...rest]: readonly Step[], change: Change): Json {
  if (step === undefined) return change === REMOVED ? {} : change;
  if (Array.isArray(value)) {
    const copy = [...value];
    if (rest.length === 0 && change === REMOVED) copy.splice(step as number, 1);
    else copy[step as number] = withChange(copy[step as number]!, rest, change);
    return copy;
  }
  const object = value as { [key: string]: Json };
  if (rest.length === 0 && change === REMOVED) {
    return Object.fromEntries(Object.entries(object).filter(([key]) => key !== step));
  }
  return { ...object, [step]: withChange(object[step] ?? {}, rest, change) };
}

function say(change: Change): string {
  return change === REMOVED ? 'nothing' : write(change).slice(0, 60);
}
