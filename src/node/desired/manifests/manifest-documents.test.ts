import { describe, expect, it } from 'vitest';
import { cutDocument, replaceDocument, splitDocuments } from './manifest-documents.js';

const TEXT = '# of all\nname: a\n--- # second\n# of b\n\nname: b\ntext: |\n  ---\n  x\n---\nname: c\n';

/** The documents of a text as texts. */
function textsOf(text: string): string[] | undefined {
  return splitDocuments(text)?.map(({ start, end }) => text.slice(start, end));
}

describe('the documents of a file', () => {
  it.each([
    ['one', 'name: a\n', ['name: a\n']],
    ['none', '', ['']],
    ['three, with comments', TEXT, TEXT.split(/^--- # second\n|^---\n/m)],
    ['one behind a separator', '---\nname: a', ['', 'name: a']],
    ['those with a separator at the end', 'name: a\n---\n', ['name: a\n', '']],
    [
      'those of lines that end as on Windows',
      'name: a\r\n---\r\nname: b\r\n',
      ['name: a\r\n', 'name: b\r\n'],
    ],
  ])('are %s', (_, text, expected) => {
    expect(textsOf(text)).toEqual(expected);
  });

  it.each([['%YAML 1.1\n---\na: 1\n'], ['a: 1\n...\n---\nb: 1\n'], ['--- {a: 1}\n--- {b: 1}\n']])(
    'are not taken out of %j',
    (text) => {
      expect(splitDocuments(text)).toBeUndefined();
    },
  );
});

describe('one document of a file', () => {
  it('is replaced, and the rest stays as it is', () => {
    const [, second] = splitDocuments(TEXT)!;
    expect(replaceDocument(TEXT, second!, 'name: new\n')).toBe(
      '# of all\nname: a\n--- # second\n# of b\n\nname: new\n---\nname: c\n',
    );
  });

  it.each([
    [0, '# of b\n\nname: b\ntext: |\n  ---\n  x\n---\nname: c\n'],
    [1, '# of all\nname: a\n---\nname: c\n'],
    [2, '# of all\nname: a\n--- # second\n# of b\n\nname: b\ntext: |\n  ---\n  x\n'],
  ])('is cut out with its separator: number %i', (index, expected) => {
    expect(cutDocument(TEXT, splitDocuments(TEXT)![index]!)).toBe(expected);
  });
});
