import { describe, expect, it } from 'vitest';
import { FakeClock } from '#testing/fake-clock.js';
import { MAX_TOKENS, TOKEN_LIFETIME_MS, TokenStore } from './token-store.js';

function setUp() {
  const clock = new FakeClock();
  return { clock, tokens: new TokenStore<string>({ clock }) };
}

describe('a token', () => {
  it('gives its grant once', () => {
    const { tokens } = setUp();
    const token = tokens.insert('this');
    expect(tokens.consume(token)).toBe('this');
    expect(tokens.consume(token)).toBeUndefined();
  });

  it('has 128 bits that go into a URL as they are, and no two are alike', () => {
    const { tokens } = setUp();
    const all = Array.from({ length: 500 }, () => tokens.insert('x'));
    expect(all.every((token) => /^[\w-]{22}$/.test(token))).toBe(true);
    expect(new Set(all).size).toBe(500);
  });

  it('is worth nothing after a minute', async () => {
    const { clock, tokens } = setUp();
    const late = tokens.insert('late');
    await clock.advance(TOKEN_LIFETIME_MS - 1);
    const young = tokens.insert('young');
    await clock.advance(1);
    expect(tokens.consume(late)).toBeUndefined();
    expect(tokens.consume(young)).toBe('young');
  });

  it('is refused when too many wait, until some have expired', async () => {
    const { clock, tokens } = setUp();
    for (let at = 0; at < MAX_TOKENS; at++) tokens.insert(String(at));
    expect(() => tokens.insert('one too many')).toThrow(/1000 streaming requests are waiting/);
    expect(tokens.size).toBe(MAX_TOKENS);
    await clock.advance(TOKEN_LIFETIME_MS);
    expect(tokens.size).toBe(0);
    expect(tokens.consume(tokens.insert('again'))).toBe('again');
  });

  it('that nobody handed out gives nothing', () => {
    const { tokens } = setUp();
    tokens.insert('x');
    expect(tokens.consume('')).toBeUndefined();
    expect(tokens.consume('__proto__')).toBeUndefined();
  });
});
