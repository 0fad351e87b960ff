import { describe, expect, it } from 'vitest';
import fc from 'fast-check';
import { type Secret } from './config-object.js';
import { SecretHider } from './secret-hider.js';

function aSecret(...values: readonly (string | Uint8Array)[]): Secret {
  const data = new Map(
    values.map((value, at) => [`k${at}`, typeof value === 'string' ? Buffer.from(value) : value] as const),
  );
  return { kind: 'Secret', metadata: { name: 'key', namespace: 'default' }, type: 'Opaque', data };
}

function knowing(...values: readonly (string | Uint8Array)[]): SecretHider {
  const hider = new SecretHider();
  hider.learn(aSecret(...values));
  return hider;
}

describe('values of Secrets', () => {
  it('are hidden wherever they stand, each time', () => {
    const hider = knowing('swordfish', 'hunter22');
    expect(hider.hide('swordfish, hunter22 and swordfishhunter22')).toBe('***, *** and ******');
    expect(hider.hide('a sword is no fish')).toBe('a sword is no fish');
  });

  it('that are part of one another are hidden whole', () => {
    const hider = knowing('swordfish', 'swordfish-and-chips', 'and-chips');
    expect(hider.hide('swordfish-and-chips swordfish-and and-chips')).toBe('*** ***-and ***');
  });

  it('of several lines are hidden whole and line by line, without the space round them', () => {
    const hider = knowing('user: admin\n  password: swordfish  \nok\n');
    expect(hider.hide('line 2: password: swordfish!')).toBe('line 2: ***!');
    expect(hider.hide('ok, user: admin\n  password: swordfish  \nok')).toBe('ok, ***');
  });

  it('that are cut off by the end of the text are hidden, too', () => {
    expect(knowing('swordfish-and-chips').hide('it says swordfish-')).toBe('it says ***');
    expect(knowing('swordfish-and-chips').hide('it says sword')).toBe('it says sword');
  });

  it('shorter than six characters are words like any other', () => {
    expect(knowing('true', 'admin').hide('admin: true')).toBe('admin: true');
  });

  it('that are bytes, or a part of what was read, are no trouble', () => {
    const bytes = Buffer.from('--swordfish--');
    const hider = knowing(bytes.subarray(2, 11), new Uint8Array([255, 254, 0, 1, 2, 3, 4]));
    expect(hider.hide('swordfish')).toBe('***');
  });

  it('stay known when their Secret changes, the newest of them as there is room', () => {
    const hider = new SecretHider({ capacity: 2 });
    for (const value of ['first-one', 'second-one', 'first-one', 'third-one']) hider.learn(aSecret(value));
    expect(hider.hide('first-one second-one third-one')).toBe('*** second-one ***');
    expect(hider.forgotten).toBe(1);
  });

  it('are never in what is left, whatever the text', () => {
    const word = fc.string({ unit: fc.constantFrom('a', 'b'), minLength: 6, maxLength: 9 });
    fc.assert(
      fc.property(
        fc.array(word, { minLength: 1, maxLength: 4 }),
        fc.array(fc.string({ unit: fc.constantFrom('a', 'b', ' '), maxLength: 30 })),
        (values, texts) => {
          const hider = knowing(...values);
          for (const text of texts) {
            const shown = hider.hide(text);
            for (const value of values) expect(shown).not.toContain(value);
          }
        },
      ),
    );
  });
});
