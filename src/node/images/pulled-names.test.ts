import { expect, it } from 'vitest';
import { MAX_LOGINS, type PulledNames, type UsedLogin, withOthers, withPull } from './pulled-names.js';

const NOTHING: PulledNames = new Map();
const used = (hash: string, uid?: string): UsedLogin => ({
  hash,
  ...(uid === undefined ? {} : { secret: { uid, namespace: 'a', name: 's' } }),
});

it('keeps each login once, and of a Secret the one that was used last', () => {
  const once = withPull(NOTHING, 'r/app', used('one', 'u1'));
  expect(withPull(once, 'r/app', used('one', 'u1'))).toBe(once);
  expect(withPull(once, 'r/app', used('one'))).toBe(once);
  const twice = withPull(withPull(once, 'r/app', used('two', 'u1')), 'r/app', used('two', 'u2'));
  expect(twice.get('r/app')).toEqual([used('two', 'u1'), used('two', 'u2')]);
});

it('needs no logins any more once it was fetched without one, under that name alone', () => {
  const both = withPull(withPull(NOTHING, 'r/app', used('one')), 'r/copy', used('one'));
  const open = withPull(both, 'r/app', undefined);
  expect([...open]).toEqual([
    ['r/app', 'anyone'],
    ['r/copy', [used('one')]],
  ]);
  expect(withPull(open, 'r/app', used('two'))).toBe(open);
});

it('has a bound: what was used longest ago goes first', () => {
  let names = NOTHING;
  for (let index = 0; index <= MAX_LOGINS; index++) names = withPull(names, 'r/app', used(`h${index}`));
  const logins = names.get('r/app') as readonly UsedLogin[];
  expect([logins.length, logins[0]!.hash, logins.at(-1)!.hash]).toEqual([MAX_LOGINS, 'h1', 'h100']);
});

it('takes what somebody else knows, and leaves of a Secret that both know what is known here', () => {
  const ours = withPull(NOTHING, 'r/app', used('one', 'u1'));
  const theirs: PulledNames = new Map<string, 'anyone' | readonly UsedLogin[]>([
    ['r/app', [used('x', 'u1'), used('x', 'u2')]],
    ['r/open', 'anyone'],
    ['r/closed', []],
  ]);
  expect([...withOthers(ours, theirs)]).toEqual([
    ['r/app', [used('x', 'u2'), used('one', 'u1')]],
    ['r/open', 'anyone'],
    ['r/closed', []],
  ]);
  expect(withOthers(theirs, withPull(NOTHING, 'r/app', undefined)).get('r/app')).toBe('anyone');
  expect(withOthers(theirs, new Map([['r/open', [used('one')]]])).get('r/open')).toBe('anyone');
});
