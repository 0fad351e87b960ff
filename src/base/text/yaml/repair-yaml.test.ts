import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { applyEdits, placeBefore } from './repair-yaml.js';
import { parseYamlDocuments } from './yaml-document.js';

const valuesOf = (text: string): unknown[] =>
  parseYamlDocuments(text).map(({ value, problems }) => (problems.length === 0 ? value : problems));

describe('YAML that Kubernetes’ parser reads', () => {
  it.each([
    [`a: "it\\'s \\\\' \\""`, { a: `it's \\' "` }],
    ['a: "b"#c\nd: [e]#f\n', { a: 'b', d: ['e'] }],
    ["a: 'b'#c", { a: 'b' }],
    ['a: b\rc: d\r', { a: 'b', c: 'd' }],
    ['a: [b,\n\tc]\nd: e', { a: ['b', 'c'], d: 'e' }],
    ['a: [\nb,\n\n# text\nc\n]\nd: e', { a: ['b', 'c'], d: 'e' }],
    ['a: {b: c,\nd: "e f"}\ng: h', { a: { b: 'c', d: 'e f' }, g: 'h' }],
    ['x:\n  a: "b\n\tc\n\n\td"\nw: z', { x: { a: 'b c\nd' }, w: 'z' }],
    ["a: 'b\nc'", { a: 'b c' }],
    ['a: "b\\\n\tc"', { a: 'bc' }],
    ['a: 9e1234\nb: 123e4567\nc: 1e3', { a: '9e1234', b: '123e4567', c: 1000 }],
    ['a: [0O7, 0X1F, 0B1, -0B11, 0x1ffffffffffffffff]', { a: [7, 31, 1, -3, '0x1ffffffffffffffff'] }],
    ['0x1F: a\n1_0: b\n1.5: c', { 31: 'a', 10: 'b', '1.5': 'c' }],
    ['b: &b {x: 1}\na: {<<: [*b, {w: 2}]}', { b: { x: 1 }, a: { x: 1, w: 2 } }],
  ])('is read as it is there: %j', (text, value) => {
    expect(valuesOf(text)).toEqual([value]);
  });

  it.each([
    ['a: "b\\q"', '1:6 Invalid escape sequence \\q'],
    ['a: "b\\\'\nc: [', /^1:/],
    ['a: .inf', '1:4 .inf is no number here; put it in quotes if it is text'],
    ['1.10: a', '1:1 the key "1.10" means 1.1; put it in quotes'],
    ['a: "x\u0091"', '1:6 control characters are not allowed'],
  ])('stays an error if there is nothing to repair: %j', (text, message) => {
    const [problem] = parseYamlDocuments(text).flatMap(({ problems }) => problems);
    const said = `${problem!.place.line}:${problem!.place.column} ${problem!.message}`;
    expect(said).toEqual(typeof message === 'string' ? message : expect.stringMatching(message));
  });

  it('preserves the original positions', () => {
    const [document] = parseYamlDocuments(`a: "it\\'s"#c\nb: [c,\n\td]\ne: f\n`);
    expect(document!.placeOf(['a'])).toEqual({ line: 1, column: 4 });
    expect(document!.placeOf(['b', 1])).toEqual({ line: 3, column: 2 });
    expect(document!.placeOf(['e'], 'key')).toEqual({ line: 4, column: 1 });
  });

  it('maps positions of any edited text back', () => {
    const edit = fc.record({ gap: fc.nat(5), removed: fc.nat(4), inserted: fc.string({ maxLength: 4 }) });
    fc.assert(
      fc.property(fc.array(edit, { maxLength: 6 }), (parts) => {
        let at = 0;
        const edits = parts.map(({ gap, removed, inserted }) => {
          const found = { at: at + gap, removed, inserted };
          at += gap + removed;
          return found;
        });
        const text = Array.from({ length: at + 5 }, (_, index) => String.fromCharCode(0x4e00 + index)).join(
          '',
        );
        const edited = applyEdits(text, edits);
        for (const [offset, sign] of edited.split('').entries()) {
          if (sign >= '\u4e00') expect(text[placeBefore(offset, edits)]).toBe(sign);
        }
      }),
    );
  });
});
