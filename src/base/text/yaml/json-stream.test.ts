import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { findJsonStream } from './json-stream.js';
import { parseYamlDocuments } from './yaml-document.js';

const read = (text: string): unknown[] => parseYamlDocuments(text).map(({ value }) => value);

describe('consecutive JSON objects', () => {
  it('are documents, whatever is in them and between them', () => {
    const objects = fc.array(fc.dictionary(fc.string({ minLength: 1 }), fc.jsonValue()), { minLength: 2 });
    const between = fc.constantFrom('', ' ', '\n', '\r\n', '\n\n\t');
    fc.assert(
      fc.property(objects, between, fc.constantFrom(0, 2), (values, separator, indent) => {
        const texts = values.map((value) => JSON.stringify(value, null, indent));
        const pieces = findJsonStream(texts.join(separator));
        expect(pieces?.map(({ text }) => text)).toEqual(texts);
      }),
    );
  });

  it('have problems with their positions', () => {
    const [first, second, third] = parseYamlDocuments('{"a": 1}\n {"b": 1, "b": 2} {\n  "c": {}}\n');
    expect(first!.value).toEqual({ a: 1 });
    expect(second!.problems[0]).toMatchObject({
      place: { line: 2, column: 11 },
      message: 'the key "b" stands here twice',
    });
    expect(third!.placeOf(['c'])).toEqual({ line: 3, column: 8 });
  });
});

describe.each([
  ['a single object', '{"a": 1}\n'],
  ['objects with anything between them', '{"a": 1}, {"b": 2}'],
  ['objects and something behind them', '{"a": 1} {"b": 2} x'],
  ['lists', '[1] [2]'],
  ['mappings of YAML', '{a: 1}\n{b: 2}'],
  ['objects of which one is broken', '{"a": 1} {"b": 2,}'],
  ['an object that does not end', '{"a": 1} {"b": '],
  ['brackets that do not match', '{"a": 1}} {"b": 2}'],
])('%s', (_, text) => {
  it('is read as YAML', () => {
    expect(findJsonStream(text)).toBeUndefined();
  });
});

it('reads what jq prints', () => {
  expect(read('{\n  "kind": "Pod"\n}\n{\n  "kind": "Pod"\n}\n')).toEqual([{ kind: 'Pod' }, { kind: 'Pod' }]);
});
