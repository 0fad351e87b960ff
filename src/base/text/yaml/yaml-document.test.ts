import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { parseYamlDocuments } from './yaml-document.js';

/** The values of all documents, and all problems as `line:column message`. */
function read(text: string): { values: unknown[]; problems: string[] } {
  const documents = parseYamlDocuments(text);
  return {
    values: documents.map(({ value }) => value),
    problems: documents.flatMap(({ problems }) =>
      problems.map(({ place, message }) => `${place.line}:${place.column} ${message}`),
    ),
  };
}

describe('a scalar', () => {
  it.each([
    ['yes', true],
    ['n', false],
    ['On', true],
    ['~', null],
    ['0644', 420],
    ['0o644', 420],
    ['0x1F', 31],
    ['-0b11', -3],
    ['1_000', 1000],
    ['1.50', 1.5],
    ['.5', 0.5],
    ['1e3', 1000],
    ['-0', 0],
    ['089', 89],
    ['1.2.3', '1.2.3'],
    ['22:30', '22:30'],
    ['2001-01-01', '2001-01-01'],
    ['1Gi', '1Gi'],
    ['-', [null]],
    ['"yes"', 'yes'],
    ["'0644'", '0644'],
    ['!!str 0644', '0644'],
    ['nulls', 'nulls'],
  ])('%s means the same as in Kubernetes', (text, value) => {
    expect(read(`a: ${text === '-' ? '\n  -' : text}`)).toEqual({ values: [{ a: value }], problems: [] });
  });
});

describe('a document', () => {
  it('with a line indented below a value says how lines are indented', () => {
    const [document] = parseYamlDocuments('kind: Pod\n  metadata: x\n');
    expect(document!.problems).toMatchObject([
      {
        place: { line: 1, column: 7 },
        message: expect.stringContaining('give both the same indentation') as string,
      },
    ]);
  });

  it('knows the positions of its values and keys', () => {
    const [document] = parseYamlDocuments('a:\n  - b: 1\n    c: two\n');
    expect(document!.placeOf(['a', 0, 'c'])).toEqual({ line: 3, column: 8 });
    expect(document!.placeOf(['a', 0, 'c'], 'key')).toEqual({ line: 3, column: 5 });
    expect(document!.placeOf(['a', 0, 'missing'])).toEqual({ line: 2, column: 5 });
    expect(document!.placeOf([])).toEqual({ line: 1, column: 1 });
  });

  it('may be JSON with tabs and escapes, and have CRLF and a byte order mark', () => {
    expect(read('{\n\t"a": 1,\n\t"b": ["x\\ud83d\\ude00\\/"]\n}\n').values).toEqual([{ a: 1, b: ['x😀/'] }]);
    expect(read('\uFEFFa: 1\r\nb: 2\r\n').values).toEqual([{ a: 1, b: 2 }]);
  });

  it('is unaffected by problems in others', () => {
    expect(read('a: 1\n---\nb: [\n---\n# nothing\n---\nc: 2\n')).toEqual({
      values: [{ a: 1 }, undefined, { c: 2 }],
      problems: [expect.stringMatching(/^4:1 Flow sequence/)],
    });
    expect(read('# nothing\n')).toEqual({ values: [], problems: [] });
    expect(read('')).toEqual({ values: [], problems: [] });
  });

  it('may begin with a byte order mark, as in joined files', () => {
    const text = '\ufeffa: 1\n---\n\ufeffb: 2\n--- \r\n\ufeff# c\nc: "\ufeff"\n';
    expect(read(text)).toEqual({ values: [{ a: 1 }, { b: 2 }, { c: '\ufeff' }], problems: [] });
  });

  it('may use aliases and merge keys', () => {
    const text = 'base: &b {x: 1, w: 2}\nother: *b\nall: {<<: *b, w: 3}\nlist: {<<: [*b, {z: 4, x: 5}]}\n';
    expect(read(text)).toEqual({
      values: [
        { base: { x: 1, w: 2 }, other: { x: 1, w: 2 }, all: { x: 1, w: 3 }, list: { x: 1, w: 2, z: 4 } },
      ],
      problems: [],
    });
  });

  it('has only own keys, whatever they are called', () => {
    const [document] = parseYamlDocuments('__proto__: {a: 1}\nconstructor: 2\n');
    expect(Object.keys(document!.value as object)).toEqual(['__proto__', 'constructor']);
    expect((document!.value as { a?: number }).a).toBeUndefined();
  });

  it.each([
    ['a: 1\na: 2', '2:1 the key "a" stands here twice'],
    ['{"a": 1, "a": 2}', '1:10 the key "a" stands here twice'],
    ['x:\n  - {a: 1, a: 1}', '2:12 the key "a" stands here twice'],
    ['on: 1', '1:1 the key "on" means true; put it in quotes'],
    ['[a]: 1', '1:1 a key must be a single word'],
    ['a: !!binary aGk=', '1:13 the tag tag:yaml.org,2002:binary is not allowed'],
    ['a: !local {}', '1:11 the tag !local is not allowed'],
    ['a: *b', /Unresolved alias|no anchor &b/],
    ['a: &a [*a]', '1:8 *a stands inside of &a'],
    ['a: {<<: 1}', '1:5 << takes a mapping or a list of mappings'],
    ['a: "\u0007"', '1:5 control characters are not allowed'],
    ['\ta: 1', /^1:\d/],
    ['a: b: c', /^1:\d/],
    [`${'['.repeat(200)}1${']'.repeat(200)}`, /it is nested too deep/],
    ['['.repeat(50_000), /it is nested too deep/],
    ['{"a":'.repeat(20_000), /it is nested too deep/],
    ['['.repeat(5000), /^1:/],
  ])('reports its problem: %s', (text, message) => {
    const { problems } = read(text);
    expect(problems[0]).toEqual(typeof message === 'string' ? message : expect.stringMatching(message));
  });

  it('cannot exhaust the memory with aliases of aliases', () => {
    const levels = 'bcdefghij'.split('').map((name, index) => {
      const before = 'abcdefghi'[index]!;
      return `${name}: &${name} [${Array(10).fill(`*${before}`).join(', ')}]`;
    });
    const { problems } = read(`a: &a [x, x, x, x, x, x, x, x, x, x]\n${levels.join('\n')}\n`);
    expect(problems).toEqual([expect.stringContaining('more than 200000 values')]);
  });

  it("reports a problem in an alias's target once", () => {
    expect(read('a: &a {y: 1}\nb: *a\nc: *a\n').problems).toEqual([
      '1:8 the key "y" means true; put it in quotes',
    ]);
  });

  it('is what was printed, for any value', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 4 }), (value) => {
        const [json] = parseYamlDocuments(JSON.stringify({ value }));
        expect(json!.problems.filter(({ message }) => !/control|means/.test(message))).toEqual([]);
        if (json!.problems.length > 0) return;
        expect(json!.value).toEqual(JSON.parse(JSON.stringify({ value })));
      }),
    );
  });

  it('never throws, for any text', () => {
    const words = fc.constantFrom(
      'a',
      ':',
      ' ',
      '\n',
      '- ',
      '&a ',
      '*a',
      '{',
      '}',
      '[',
      ']',
      '"',
      "'",
      '|',
      '>',
      '---',
      '<<',
      '!!',
      '? ',
      '#',
      '\t',
      '%',
    );
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          fc.array(words).map((parts) => parts.join('')),
        ),
        (text) => {
          for (const document of parseYamlDocuments(text))
            expect(document.placeOf(['a', 0]).line).toBeGreaterThan(0);
        },
      ),
    );
  });

  it('reads what the yaml package prints in YAML 1.1', () => {
    const value = {
      a: ['yes', 'no', '0644', '1_000', '', 'null', '~', 'x: y', '# c'],
      b: { 'on ': 1, c: true },
    };
    expect(read(stringify(value, { version: '1.1' })).values).toEqual([value]);
  });
});
