import { describe, expect, it } from 'vitest';
import fc from 'fast-check';
import { type Secret } from './config-object.js';
import { SecretValues } from './secret-values.js';

function aSecret(...values: readonly (string | Uint8Array)[]): Secret {
  const data = new Map(
    values.map((value, at) => [`k${at}`, typeof value === 'string' ? Buffer.from(value) : value] as const),
  );
  return { kind: 'Secret', metadata: { name: 'key', namespace: 'default' }, type: 'Opaque', data };
}

function knowing(...values: readonly (string | Uint8Array)[]): SecretValues {
  const known = new SecretValues({ capacity: 100_000 });
  known.learn(aSecret(...values));
  return known;
}

describe('values of Secrets', () => {
  it('are hidden wherever they occur, each time', () => {
    const known = knowing('swordfish', 'hunter22');
    expect(known.hide('swordfish, hunter22 and swordfishhunter22')).toBe('***, *** and ******');
    expect(known.hide('a sword is no fish')).toBe('a sword is no fish');
  });

  it('that are part of one another are hidden as a whole', () => {
    const known = knowing('swordfish', 'swordfish-and-chips', 'and-chips');
    expect(known.hide('swordfish-and-chips swordfish-and and-chips')).toBe('*** ***-and ***');
  });

  it('of several lines are hidden as a whole and line by line, without the surrounding white space', () => {
    const known = knowing('user: admin\n  password: swordfish  \nok\n');
    expect(known.hide('line 2: password: swordfish!')).toBe('line 2: ***!');
    expect(known.hide('ok, user: admin\n  password: swordfish  \nok')).toBe('ok, ***');
  });

  it('that are cut off by the end of the text are hidden, too', () => {
    expect(knowing('swordfish-and-chips').hide('it says swordfish-')).toBe('it says ***');
    expect(knowing('swordfish-and-chips').hide('it says sword')).toBe('it says sword');
  });

  it('shorter than six characters are treated like other words', () => {
    expect(knowing('true', 'admin').hide('admin: true')).toBe('admin: true');
  });

  it('that are bytes, or a part of what was read, cause no error', () => {
    const bytes = Buffer.from('--swordfish--');
    const known = knowing(bytes.subarray(2, 11), new Uint8Array([255, 254, 0, 1, 2, 3, 4]));
    expect(known.hide('swordfish')).toBe('***');
  });

  it('stay known when their Secret changes, the newest ones up to the limit', () => {
    const known = new SecretValues({ capacity: 2 });
    const values = ['first-one', 'second-one', 'first-one', 'third-one'];
    expect(values.map((value) => known.learn(aSecret(value)))).toEqual([0, 0, 0, 1]);
    expect(known.hide('first-one second-one third-one')).toBe('*** second-one ***');
  });

  it('that are no longer used are treated like other words, also in text that begins like them', () => {
    const known = knowing('swordfish-and-chips', 'swordfish', 'two lines:\nhunter22\n');
    known.forget(aSecret('swordfish', 'two lines:\nhunter22\n', 'never learnt'));
    expect(known.hide('swordfish, hunter22, swordfish-and-chips')).toBe('swordfish, hunter22, ***');
    known.learn(aSecret('swordfish'));
    expect(known.hide('swordfish, hunter22')).toBe('***, hunter22');
  });

  it.each([
    ['Go', 'exec: "pa\\tss\\\\wo\\"rd\\x01": not found', 'exec: "***": not found'],
    ['JSON', '["pa\\tss\\\\wo\\"rd\\u0001"]', '["***"]'],
    ['JSON in Go', 'args "[\\"pa\\\\tss\\\\\\\\wo\\\\\\"rd\\\\u0001\\"]"', 'args "[\\"***\\"]"'],
    ['Go, up to the end of the text', 'exec: "pa\\tss\\\\wo\\', 'exec: "***'],
    ['a runtime that writes one line', 'exec: pa ss\\wo"rd : not found', 'exec: ***: not found'],
    ['nobody', 'pa\tss\\wo"rd\x01, C:\\temp', '***, C:\\temp'],
  ])('that %s has quoted are hidden, too', (_who, text, shown) => {
    expect(knowing('pa\tss\\wo"rd\x01').hide(text)).toBe(shown);
  });

  it('are hidden from their beginning, if 32 characters of it are there', () => {
    const known = knowing('a'.repeat(40));
    expect(known.hide(`${'a'.repeat(32)} ${'a'.repeat(31)} b`)).toBe(`*** ${'a'.repeat(31)} b`);
  });

  it.each([
    ['begin alike', (at: number) => `the same beginning of all of them ${at}`, 'the same beginning of all '],
    ['hold one another', (at: number) => 'a'.repeat(6 + (at % 1_000)) + 'c', 'a'],
  ])('numbering 40,000 (%s) take a few milliseconds for the output of a probe', (_how, value, text) => {
    const known = knowing(...Array.from({ length: 40_000 }, (_, at) => value(at)));
    const output = text.repeat(10_240 / text.length) + 'b';
    known.hide(output);
    const steps = process.cpuUsage();
    for (let times = 0; times < 10; times++) known.hide(output);
    // Ten runs; quadratic work would be far above this, while a busy machine stays below it.
    expect(process.cpuUsage(steps).user / 1_000).toBeLessThan(2_000);
  });

  it('never remain in the result, whatever the text', () => {
    const word = fc.string({ unit: fc.constantFrom('a', 'b'), minLength: 6, maxLength: 9 });
    fc.assert(
      fc.property(
        fc.array(word, { minLength: 1, maxLength: 4 }),
        fc.array(fc.string({ unit: fc.constantFrom('a', 'b', ' '), maxLength: 30 })),
        (values, texts) => {
          const known = knowing(...values);
          for (const text of texts) {
            const shown = known.hide(text);
            for (const value of values) expect(shown).not.toContain(value);
          }
        },
      ),
    );
  });
});
