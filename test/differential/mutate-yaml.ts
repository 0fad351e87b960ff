/**
 * YAML as people and programs write it, and with one thing changed in its text: quoting, escapes, comments, line ends,
 * tabs, numbers. The same seed number gives the same texts.
 *
 * @module
 */
import { createSeededRandom } from '../../src/proxy/chaos/faults/seeded-random.js';

const TEXTS: readonly string[] = [
  'metadata:\n  name: web\n  labels: {app: web, tier: "front"}\nspec:\n  containers:\n  - name: a\n    image: nginx # the server\n    args: ["-c", \'it\'\'s\', x]\n',
  "# settings\na: \"one\\ttwo \\u00e9 \\x41\"\nb: 'single ''quoted'''\nc: plain text # comment\nd:\n  - 1\n  - \"2\"\n",
  'command: ["sh", "-c",\n  "echo a;\n   echo b"]\nenv:\n- {name: A, value: "1"}\n- {name: B,\n   value: b}\n',
  'script: |\n  #!/bin/sh\n  echo "$A"\n    indented\n\n  end\nfolded: >-\n  one\n  two\n\n  three\nlast: x\n',
  'base: &base\n  cpu: 100m\n  memory: 1Gi\nother: *base\nmerged:\n  <<: *base\n  memory: 2Gi\n',
  '{\n\t"kind": "Pod",\n\t"list": [1, 2.5, true, null],\n\t"text": "a\\/b \\" \\\\ \\n"\n}\n',
  '---\na: 1\nb:\n    c: 2\n    d:\n    - e\n    -  f: 1\n       g: 2\n',
  'plain: a multi\n  line text\nquoted: "a\n  multi line\n\n  text"\nempty:\nnulls: ~\ntilde: null\nt: yes\n',
  '? key\n: value\n"quoted key": 1\n\'other\': 2\n3: three\ntrue: x\n',
  'time: 12:30:45\ndate: 2026-11-28\nversion: 1.10\nhash: 123e4567\nport: 0644\nsize: 1_000\n',
  'a: [x, y: z, [1, 2], {b: c}]\nb: {x, y: , "z": 1}\nc: []\nd: {}\n',
  'url: http://example.org/#anchor\nratio: 1:2\nglob: "*.txt"\npercent: 5%\ndash: -\nquestion: a?b\nat: a@b\n',
];

const SIGNS = [
  ' ',
  '\t',
  '\n',
  '\r',
  '\r\n',
  '\n\n',
  '#',
  ' #',
  ':',
  ': ',
  '-',
  '- ',
  '"',
  "'",
  '\\',
  ',',
  '[',
  ']',
];
const MORE = [
  '{',
  '}',
  '&',
  '*',
  '!',
  '|',
  '>',
  '%',
  '@',
  '`',
  '?',
  '\u00A0',
  '\u0085',
  '\u2028',
  '\uFEFF',
  'é',
  '😀',
];
const INSERTS = [
  ...SIGNS,
  ...MORE,
  "\\'",
  '\\"',
  '!!str ',
  '&a ',
  '  ',
  '\n\t',
  ' \t',
  '\u007f',
  '\u0001',
  '\u0091',
];

/** Plain scalars, made of the parts of which numbers and words are made. */
const SCALARS: readonly string[] = [
  ...[
    'y',
    'Y',
    'yes',
    'Yes',
    'YES',
    'yEs',
    'n',
    'N',
    'no',
    'on',
    'On',
    'oN',
    'off',
    'OFF',
    'true',
    'True',
    'TRUE',
  ],
  ...[
    'tRUE',
    'false',
    'null',
    'Null',
    'NULL',
    'nUll',
    '~',
    '~~',
    '',
    '.',
    '..',
    '-',
    '+',
    '+-1',
    '--1',
    '.inf',
  ],
  ...['.Inf', '.INF', '.iNf', '-.inf', '+.inf', '.nan', '.NaN', '.NAN', 'inf', 'NaN', 'Infinity', '=', '<<'],
  ...[
    '2026-11-28',
    '2026-11-28T10:00:00Z',
    '2026-11-28 10:00:00',
    '12:30',
    '12:30:45',
    '1:2:3',
    '190:20:30.15',
  ],
  ...[
    '1,000',
    '1 000',
    '1k',
    '1Gi',
    '100m',
    '1.2.3',
    '1.2.3.4',
    'v1',
    '0.0.0',
    '1-2',
    '1/2',
    '1%',
    '$1',
    '1e',
    'e1',
  ],
  ...crossed(
    ['', '-', '+'],
    ['0', '1', '7', '8', '9', '10', '007', '08', '0_7', '1_000', '_1', '1_', '1__0', '00'],
  ),
  ...crossed(
    ['', '-', '+'],
    crossed(['0x', '0X', '0o', '0O', '0b', '0B'], ['0', '1', '7', '8', 'f', 'F', '_1', '1_1', 'g', '']),
  ),
  ...crossed(
    ['', '-', '+'],
    crossed(
      ['1', '0', '12', '', '00', '1_0'],
      crossed(
        ['.', '.5', '.0', '._5', '.5_', ''],
        ['', 'e3', 'E3', 'e+3', 'e-3', 'e', 'e999', 'e-999', 'e1_0'],
      ),
    ),
  ),
  ...[
    '123e4567',
    '1e308',
    '1e309',
    '9e1234',
    '-1e999',
    '1e-400',
    '4e2',
    '00e1',
    '9007199254740993',
    '9223372036854775807',
  ],
  ...[
    '9223372036854775808',
    '18446744073709551615',
    '18446744073709551616',
    '-9223372036854775808',
    '-9223372036854775809',
  ],
  ...[
    '123456789012345678901234567890',
    '0x7fffffffffffffff',
    '0xffffffffffffffff',
    '0x1ffffffffffffffff',
    '0777777777777777777777',
  ],
  ...[
    '0b1111111111111111111111111111111111111111111111111111111111111111',
    '1.7976931348623157e308',
    '0.1e1',
    '1.e1',
    '.e1',
  ],
];

function crossed(one: readonly string[], other: readonly string[]): string[] {
  return one.flatMap((a) => other.map((b) => `${a}${b}`));
}

/** One document each, and no text twice. */
export function generateYaml(count: number, seedNumber: number): string[] {
  const random = createSeededRandom(seedNumber, 'yaml');
  const below = (most: number): number => Math.floor(random() * most);
  const pick = <Item>(items: readonly Item[]): Item => items[below(items.length)]!;
  const found = new Set<string>(TEXTS);
  for (const scalar of SCALARS) {
    found.add(`a: ${scalar}\n`);
    found.add(`${scalar}: a\n`);
    found.add(`[${scalar}]\n`);
  }
  for (let code = 0x20; code < 0x7f; code++) found.add(`a: "x\\${String.fromCharCode(code)}41414141y"\n`);
  for (let code = 0; code < 0x20; code++) found.add(`a: "x${String.fromCharCode(code)}y"\n`);
  for (const sign of [...INSERTS, '\u00AD', '\u200B', '\uFFFE', '\u0080', '\u009F']) {
    for (const text of [
      'a: x¤y\n',
      'a: "x¤y"\n',
      "a: 'x¤y'\n",
      'a: x ¤ y\n',
      'a: [x¤y]\n',
      'a: {b: c¤}\n',
      '¤a: b\n',
      'a: b¤\n',
      'a:¤b\n',
      'a: "b"¤c: d\n',
      '- a¤- b\n',
      'a: |\n  x¤\n',
      'a: b\n¤\nc: d\n',
      'a: [b,¤c]\n',
      'a¤: b\n',
      'a: "b"¤#c\n',
    ]) {
      found.add(text.replace('¤', () => sign));
    }
  }
  for (const text of TEXTS) {
    found.add(text.replaceAll('\n', '\r'));
    found.add(text.replaceAll('\n', '\r\n'));
    found.add(text.replaceAll('\n  ', '\n\t'));
    found.add(text.replaceAll(' #', '#'));
    found.add(text.replaceAll(': ', ':\t'));
    found.add(text.replaceAll('- ', '-\t'));
    found.add(text.trimEnd());
  }
  while (found.size < count) {
    const text = pick(TEXTS);
    const at = below(text.length + 1);
    const taken = below(4) === 0 ? 0 : below(3);
    found.add(`${text.slice(0, at)}${below(5) === 0 ? '' : pick(INSERTS)}${text.slice(at + taken)}`);
  }
  return [...found].filter(
    (text) => !/^(?:---|\.\.\.)/m.test(text.replaceAll('\r', '\n').replace(/^---\s/, '')),
  );
}
