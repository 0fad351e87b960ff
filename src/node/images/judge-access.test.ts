import { describe, expect, it } from 'vitest';
import { judgeAccess } from './judge-access.js';
import { MAX_LOGINS, type PulledNames, type UsedLogin } from './pulled-names.js';
import { VERIFICATION_POLICIES, type VerificationPolicy } from './verification-policy.js';

const REPOSITORY = 'r.test/team/app';
const OTHER = 'r.test/public/app';
const secret = (uid: string) => ({ uid, namespace: 'team', name: 'pull' });
const MINE: UsedLogin = { hash: 'mine', secret: secret('u1') };

/** How an image may have come to the node. */
const ORIGINS = {
  'not by us': undefined,
  'nobody knows how': new Map(),
  'with my login': new Map([[REPOSITORY, [MINE]]]),
  'with a login of a manifest': new Map([[REPOSITORY, [{ hash: 'mine' }]]]),
  'without a login': new Map([[REPOSITORY, 'anyone' as const]]),
  'without a login, by another name': new Map([[OTHER, 'anyone' as const]]),
  'with my login, by another name': new Map([[OTHER, [MINE]]]),
  'with my login, and without one by another name': new Map<string, 'anyone' | UsedLogin[]>([
    [REPOSITORY, [MINE]],
    [OTHER, 'anyone'],
  ]),
} satisfies Record<string, PulledNames | undefined>;

/** What a pod may have for it. */
const LOGINS: Readonly<Record<string, readonly UsedLogin[]>> = {
  none: [],
  mine: [MINE],
  'mine by another Secret': [{ hash: 'mine', secret: secret('u2') }],
  'mine by a manifest': [{ hash: 'mine' }],
  'another one of my Secret': [{ hash: 'new', secret: secret('u1') }],
  'of a Secret that was made anew': [{ hash: 'new', secret: secret('u3') }],
  'another one, and mine': [{ hash: 'other', secret: secret('u2') }, MINE],
};

const BY_SECRET = ['mine', 'another one of my Secret', 'another one, and mine'];
const BY_LOGIN = ['mine', 'mine by another Secret', 'mine by a manifest', 'another one, and mine'];
const ALL = Object.keys(LOGINS);

/** Who may use it, where an image has to be verified. */
const WELCOME: Readonly<Record<keyof typeof ORIGINS, readonly string[]>> = {
  'not by us': [],
  'nobody knows how': [],
  'with my login': [...new Set([...BY_SECRET, ...BY_LOGIN])],
  'with a login of a manifest': BY_LOGIN,
  'without a login': ALL,
  'without a login, by another name': [],
  'with my login, by another name': [],
  'with my login, and without one by another name': [...new Set([...BY_SECRET, ...BY_LOGIN])],
};

function expected(policy: VerificationPolicy, origin: keyof typeof ORIGINS, login: string): string {
  const byRecord = WELCOME[origin].includes(login) ? 'credentialRecordFound' : 'mustAuthenticate';
  switch (policy) {
    case 'NeverVerify':
      return 'credentialPolicyAllowed';
    case 'NeverVerifyPreloadedImages':
      if (origin === 'not by us') return 'credentialPolicyAllowed';
      return origin === 'without a login, by another name' ? 'credentialRecordFound' : byRecord;
    case 'NeverVerifyAllowlistedImages':
    case 'AlwaysVerify':
      return byRecord;
  }
}

describe.each(VERIFICATION_POLICIES)('with the policy %s', (policy) => {
  const rules = { policy, allowlist: ['elsewhere.test/*'] };
  const cases = Object.entries(ORIGINS).flatMap(([origin, names]) =>
    ALL.map((login) => ({ origin: origin as keyof typeof ORIGINS, names, login })),
  );

  it.each(cases)('an image that was fetched $origin, for a pod with login $login', (each) => {
    const { origin, names, login } = each;
    const verdict = judgeAccess({ rules, repository: REPOSITORY, names, logins: LOGINS[login]! });
    expect(verdict.result).toBe(expected(policy, origin, login));
  });

  it('the logins of a pod are asked for only where they matter', () => {
    const judge = (names: PulledNames | undefined): string =>
      judgeAccess({ rules, repository: REPOSITORY, names, logins: undefined }).result;
    for (const names of [undefined, ORIGINS['without a login'], ORIGINS['nobody knows how']]) {
      expect(judge(names)).not.toBe('loginsNeeded');
    }
    expect(judge(ORIGINS['with my login']) === 'loginsNeeded').toBe(policy !== 'NeverVerify');
  });
});

describe('an image on the list', () => {
  it.each(Object.entries(ORIGINS))('is for every pod, fetched %s', (_origin, names) => {
    const rules = { policy: 'NeverVerifyAllowlistedImages', allowlist: ['r.test/team/*'] } as const;
    const verdict = judgeAccess({ rules, repository: REPOSITORY, names, logins: [] });
    expect(verdict).toEqual({ result: 'credentialPolicyAllowed' });
  });
});

it('lets pods of the service account that a plugin gave a login to use the image, whatever their login is now', () => {
  const rules = { policy: 'NeverVerifyPreloadedImages', allowlist: [] } as const;
  const account = (uid: string) => ({ uid, namespace: 'team', name: 'builder' });
  const names = new Map([[REPOSITORY, [{ hash: 'of yesterday', account: account('a1') }]]]);
  const resultFor = (login: UsedLogin) =>
    judgeAccess({ rules, repository: REPOSITORY, names, logins: [login] }).result;
  expect(resultFor({ hash: 'of today', account: account('a1') })).toBe('credentialRecordFound');
  expect(resultFor({ hash: 'of today', account: account('a2') })).toBe('mustAuthenticate');
  // A Secret is no account, whatever it is called.
  expect(resultFor({ hash: 'of today', secret: account('a1') })).toBe('mustAuthenticate');
});

describe('what is news', () => {
  const rules = { policy: 'NeverVerifyPreloadedImages', allowlist: [] } as const;
  const newsOf = (known: readonly UsedLogin[], own: readonly UsedLogin[]) =>
    judgeAccess({ rules, repository: REPOSITORY, names: new Map([[REPOSITORY, known]]), logins: own }).news;

  it('is a Secret with a login that is known, as it may say something else later', () => {
    expect(newsOf([MINE], [{ hash: 'mine', secret: secret('u2') }])).toEqual({
      hash: 'mine',
      secret: secret('u2'),
    });
    expect(newsOf([MINE], [MINE])).toBeUndefined();
    expect(newsOf([MINE], [{ hash: 'mine' }])).toBeUndefined();
  });

  it('is a service account with a login that is known', () => {
    const account = { uid: 'a1', namespace: 'team', name: 'builder' };
    expect(newsOf([MINE], [{ hash: 'mine', account }])).toEqual({ hash: 'mine', account });
    expect(newsOf([{ hash: 'mine', account }], [{ hash: 'mine', account }])).toBeUndefined();
  });

  it('is never a login that was not tried: it would open the image to others', () => {
    expect(newsOf([MINE], [{ hash: 'new', secret: secret('u1') }])).toBeUndefined();
    expect(newsOf([MINE], [{ hash: 'new', secret: secret('u2') }])).toBeUndefined();
  });

  it('is none where there are many: it would drive out another that somebody needs', () => {
    const many = Array.from({ length: MAX_LOGINS }, (_, index) => ({
      ...MINE,
      secret: secret(`s${index}`),
    }));
    expect(newsOf(many.slice(1), [MINE])).toEqual(MINE);
    expect(newsOf(many, [MINE])).toBeUndefined();
  });
});
