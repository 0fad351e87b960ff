import { describe, expect, it } from 'vitest';
import { type Secret } from './config-object.js';
import { SecretHider } from './secret-hider.js';

function aSecret(namespace: string, ...values: readonly string[]): Secret {
  const data = new Map(values.map((value, at) => [`k${at}`, Buffer.from(value)] as const));
  return { kind: 'Secret', metadata: { name: 'key', namespace }, type: 'Opaque', data };
}

function knowing(...secrets: readonly Secret[]): SecretHider {
  const hider = new SecretHider({ capacity: 2 });
  for (const secret of secrets) hider.learn(secret);
  return hider;
}

describe('values of Secrets of a namespace', () => {
  it('are hidden in texts about its own pods, and left alone in texts about other pods and about the node', () => {
    const hider = knowing(aSecret('shop', 'swordfish'), aSecret('bank', 'postgres'));
    const text = 'Pulling image "postgres:16" for swordfish';
    expect(hider.hide(text, 'shop')).toBe('Pulling image "postgres:16" for ***');
    expect(hider.hide(text, 'bank')).toBe('Pulling image "***:16" for swordfish');
    for (const namespace of ['default', '', undefined]) expect(hider.hide(text, namespace)).toBe(text);
  });

  it('cannot be guessed from another one, neither whole nor by their beginning', () => {
    const token = 'a'.repeat(20) + 'b'.repeat(20);
    const hider = knowing(aSecret('shop', token), aSecret('guesser', 'something of its own'));
    const guesses = [token, token.slice(0, 32), `${token.slice(0, 33)} or so`, `or ${token.slice(0, 6)}`];
    for (const guess of guesses) {
      expect(hider.hide(guess, 'shop')).toContain('***');
      expect(hider.hide(guess, 'guesser')).toBe(guess);
    }
  });

  it('stay hidden however many values another one has', () => {
    const hider = knowing(aSecret('shop', 'swordfish'));
    hider.learn(aSecret('flood', ...Array.from({ length: 10 }, (_, at) => `flooding ${at}`)));
    expect(hider.hide('swordfish', 'shop')).toBe('***');
    expect(hider.hide('flooding 7, flooding 8, flooding 9', 'flood')).toBe('flooding 7, ***, ***');
    expect(hider.forgotten).toBe(8);
  });

  it('are dropped from the namespace with the most, if there are too many in total', () => {
    const hider = new SecretHider({ totalCapacity: 4 });
    hider.learn(aSecret('shop', 'swordfish'));
    hider.learn(aSecret('flood', 'flooding 0', 'flooding 1', 'flooding 2', 'flooding 3'));
    hider.learn(aSecret('bank', 'hunter22'));
    expect(hider.hide('swordfish', 'shop')).toBe('***');
    expect(hider.hide('hunter22', 'bank')).toBe('***');
    expect(hider.hide('flooding 0, flooding 1, flooding 2', 'flood')).toBe('flooding 0, flooding 1, ***');
    expect(hider.forgotten).toBe(2);
  });

  it('are forgotten in the namespace where they have ended, and nowhere else', () => {
    const hider = knowing(aSecret('shop', 'swordfish', 'hunter22'), aSecret('bank', 'swordfish'));
    for (const namespace of ['shop', 'nowhere']) hider.forget(aSecret(namespace, 'swordfish'));
    expect(hider.hide('swordfish hunter22', 'shop')).toBe('swordfish ***');
    expect(hider.hide('swordfish hunter22', 'bank')).toBe('*** hunter22');
  });

  it('are forgotten with it, until they are learnt again', () => {
    const secret = aSecret('shop', 'swordfish');
    const hider = knowing(secret, aSecret('bank', 'swordfish'));
    hider.forgetNamespace('shop');
    expect(hider.namespaces).toEqual(['bank']);
    expect(hider.hide('swordfish', 'shop')).toBe('swordfish');
    expect(hider.hide('swordfish', 'bank')).toBe('***');
    hider.learn(secret);
    expect(hider.hide('swordfish', 'shop')).toBe('***');
  });
});
