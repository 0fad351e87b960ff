import { runInNewContext } from 'node:vm';
import fc from 'fast-check';
import { expect, it } from 'vitest';

interface Stripped {
  readonly code: string;
  readonly indents: readonly number[];
}
const script = new URL('../scripts/without-indents.mjs', import.meta.url).href;
const { withoutIndents } = (await import(script)) as { withoutIndents: (code: string) => Stripped };

it('takes the tabs from lines of code, and leaves those in the text of templates', () => {
  const code = 'if (a) {\n\t\tb();\n\tc(`x\n\ty ${\n\t\td\n\t} z\n\t`);\n}\n';
  expect(withoutIndents(code)).toEqual({
    code: 'if (a) {\nb();\nc(`x\n\ty ${\nd\n} z\n\t`);\n}\n',
    indents: [0, 2, 1, 0, 2, 1, 0, 0, 0],
  });
});

it('refuses what is no code', () => {
  expect(() => withoutIndents('a (')).toThrow('cannot be parsed');
});

it('changes nothing of what code means, however templates and blocks lie in one another', () => {
  const text = fc.string({ unit: fc.constantFrom('a', '\n', '\t', '\n\t', ' ', "'"), maxLength: 8 });
  const { value: expressions } = fc.letrec<{ value: string }>((tie) => ({
    value: fc.oneof(
      { depthSize: 'small' },
      text.map((each) => JSON.stringify(each)),
      text.map((each) => `\`${each}\``),
      fc.tuple(text, tie('value'), text).map(([a, value, b]) => `\`${a}\${\n\t\t${value}\n\t}${b}\``),
      fc.tuple(tie('value'), tie('value')).map(([a, b]) => `(\n\t${a}\n\t\t+ ${b})`),
    ),
  }));
  fc.assert(
    fc.property(expressions, (expression) => {
      const { code, indents } = withoutIndents(expression);
      expect(runInNewContext(code)).toBe(runInNewContext(expression));
      expect(indents).toHaveLength(expression.split('\n').length);
    }),
  );
});
