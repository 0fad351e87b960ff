import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { checkGrammar } from './kubernetes-grammar.js';
import { parseYamlDocuments } from './yaml-document.js';

const problemsOf = (text: string): string[] =>
  parseYamlDocuments(text).flatMap(({ problems }) =>
    problems.map(({ place, message }) => `${place.line}:${place.column} ${message}`),
  );

/** The possible positions of a value in a document. */
const AROUND: Readonly<Record<string, (value: string) => string>> = {
  'at the top': (value) => `a: ${value}\n`,
  'behind others': (value) => `z: [1, 2]\n# text\na: ${value}\nb: c\n`,
  'in a list': (value) => `- x\n- a: ${value}\n  b: c\n`,
  'in the second document': (value) => `z: 1\n---\na: ${value}\n`,
};

const REFUSED: Readonly<Record<string, readonly string[]>> = {
  'an escaped slash outside of JSON': ['"x\\/y"', '["\\/"]', '{b: "\\/etc"}'],
  'a question mark in brackets': ['[x?y]', '{b: c?}', '[b, ?c]', '{?b: c}', '[http://x/?q=1]'],
  'a colon at the beginning of a word in brackets': ['[b, :c]', '{b: c, :d: e}', '[:]'],
  'a colon before a comma or bracket': ['{b:, c: d}', '{b:}', '[b:, c]', '{b:[c]}', '{b:{c: d}}'],
  'a key in brackets on two lines': ['{"b\n  c": d}', '{b\n  c: d}', '["b\n  c": d]'],
  'an anchor with other signs': ['&x:y z', '&"x" z', '&é z', '&*x z', '&x[1]'],
  'an empty line behind a backslash': ['"b \\\n\n  c"', '"b\\\n   \n  c"'],
  'a tab that indents a line of brackets': ['[b\n\tc]', '{b: c\n\t}'],
};

describe.each(Object.entries(REFUSED))('%s, which Kubernetes does not read', (_, values) => {
  it.each(Object.entries(AROUND))('is rejected %s', (__, around) => {
    for (const value of values) expect(problemsOf(around(value)), around(value)).not.toEqual([]);
  });
});

describe('a tab', () => {
  const TEXTS = [
    ...['a: b\n¤\nc: d\n', 'a: b\n\n¤\nc: d\n', 'a: b\n¤# text\nc: d\n', 'a: "b"\n¤\n', 'a: [b]\n¤# text\n'],
    ...['-¤b\n- c\n', 'a:\n-¤b\n', 'a:\n  - b\n  -¤c\n', '?¤a\n: b\n', '¤a: b\n', 'a: |\n¤b\n', 'a: b\n¤'],
  ];

  it('is rejected in place of indentation, and blanks are not', () => {
    for (const text of TEXTS) {
      expect(problemsOf(text.replace('¤', '\t')), JSON.stringify(text)).not.toEqual([]);
      expect(problemsOf(text.replace('¤', '  ')).length, JSON.stringify(text)).toBeLessThan(2);
    }
  });

  it('may follow a colon, be between words, and in brackets follow a comma', () => {
    for (const text of [
      'a:\tb\n',
      'a: b\tc\n',
      'a: b\t# text\n',
      'a: [b,\tc,\n\td]\n',
      'a: &x\tb\n',
      'a: "b"\t\n',
    ]) {
      expect(problemsOf(text), JSON.stringify(text)).toEqual([]);
    }
  });
});

describe('a directive', () => {
  it.each(['%YAML 1.2\n---\na: b\n', '%YAML 1.1\n---\na: b\n', '%a: b\n', '%TAG ! x:\n---\na: b\n'])(
    'is refused: %j',
    (text) => {
      expect(problemsOf(text)[0]).toBe('1:1 a directive is not allowed');
    },
  );
});

describe('a merge', () => {
  it.each([
    'b: &b [{x: 1}]\na: {<<: *b}\n',
    'b: &b {x: 1}\nc: &c [*b]\na: {<<: *c}\n',
    'b: &b [{x: 1}]\na: {<<: [*b]}\n',
  ])('accepts no list through an alias: %j', (text) => {
    expect(problemsOf(text)).toEqual([expect.stringMatching(/<< takes a mapping or a list of mappings/)]);
  });

  it.each(['b: &b {x: 1}\na: {<<: [*b, {w: 2}]}\n', 'b: &b {x: 1}\na: {<<: *b}\n', 'a: {<<: []}\n'])(
    'takes mappings: %j',
    (text) => {
      expect(problemsOf(text)).toEqual([]);
    },
  );
});

describe('a merge key after other keys', () => {
  it.each([
    ['a: {x: 2, <<: {x: 1}}\n', '1:11 << would replace the key "x" before it; put << first'],
    [
      'b: &b {x: 1}\na:\n  w: 1\n  x: 2\n  <<: *b\n',
      '5:3 << would replace the key "x" before it; put << first',
    ],
    [
      'b: &b {x: 1}\na: {x: 2, <<: [{w: 1}, *b]}\n',
      '2:11 << would replace the key "x" before it; put << first',
    ],
    ['a: {<<: {x: 1}, <<: {x: 2}}\n', '1:17 the key "x" is in two <<; write one << with a list'],
  ])('must not contain one of them, as YAML and Kubernetes differ then: %j', (text, problem) => {
    expect(problemsOf(text)).toEqual([problem]);
  });

  it.each(['a: {w: 2, <<: {x: 1}}\n', 'a: {<<: {x: 1}, x: 2}\n', 'a: {<<: {x: 1}, <<: {w: 2}}\n'])(
    'may have others: %j',
    (text) => {
      expect(problemsOf(text)).toEqual([]);
    },
  );

  it('is found in any order of keys and merges', () => {
    const part = fc.record({ isMerge: fc.boolean(), key: fc.constantFrom('x', 'w', 'z') });
    fc.assert(
      fc.property(fc.array(part, { minLength: 1, maxLength: 5 }), (parts) => {
        const seen = new Set<string>();
        const isAmbiguous = parts.some(({ isMerge, key }) => {
          const isTwice = seen.has(isMerge ? key : `own ${key}`) || (isMerge && seen.has(`own ${key}`));
          seen.add(isMerge ? key : `own ${key}`);
          return isTwice;
        });
        const text = parts.map(({ isMerge, key }) => (isMerge ? `<<: {${key}: 1}` : `${key}: 2`)).join('\n');
        expect(problemsOf(`${text}\n`).length > 0, text).toBe(isAmbiguous);
      }),
    );
  });
});

it('is not applied to JSON, which Kubernetes reads as such', () => {
  expect(parseYamlDocuments('{\n\t"a": "x\\/y",\n\t"b?": [\n\t\t1]\n}\n').map(({ value }) => value)).toEqual([
    { a: 'x/y', 'b?': [1] },
  ]);
});

it('does not affect other documents in the file', () => {
  const [first, second, third] = parseYamlDocuments('a: 1\n---\nb: [x?y]\n---\nc: 3\n');
  expect([first!.value, second!.problems.length, third!.value]).toEqual([{ a: 1 }, 1, { c: 3 }]);
});

describe('the check', () => {
  it('accepts the output of any YAML writer, and finds its parts', () => {
    const value = fc.jsonValue({ maxDepth: 4 });
    fc.assert(
      fc.property(value, fc.constantFrom('BLOCK_LITERAL', 'QUOTE_DOUBLE', 'PLAIN'), (given, type) => {
        const text = stringify({ given }, { version: '1.1', defaultStringType: type });
        if (/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u2028\u2029]/.test(text)) return;
        expect(checkGrammar(text).fault, text).toBeUndefined();
      }),
    );
  });

  it('never throws, and reports a position in the text', () => {
    const signs = [
      'a',
      ':',
      ' ',
      '\n',
      '\t',
      '- ',
      '? ',
      '&',
      '*a',
      '{',
      '}',
      '[',
      ']',
      '"',
      "'",
      '|',
      '>',
      '%',
      '#',
    ];
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...signs, ',', '\\', '!', '---', '...')), (parts) => {
        const text = parts.join('');
        const { fault } = checkGrammar(text);
        if (fault !== undefined) expect(fault.offset).toBeLessThanOrEqual(text.length);
      }),
      { numRuns: 2000 },
    );
  });
});
