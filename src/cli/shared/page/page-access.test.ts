import { expect, it } from 'vitest';
import { FakeClock } from '#testing/fake-clock.js';
import { LINK_LIFETIME_MS, PageAccess, type PageSession } from './page-access.js';

function setUp() {
  const clock = new FakeClock();
  const access = new PageAccess({ clock, cookieName: 'podloop-1' });
  const open = (): PageSession => access.open(access.makeKey()) as PageSession;
  return { clock, access, open };
}

const cookieOf = ({ cookie }: PageSession): string => cookie.split(';')[0]!;

it('opens a session once with each link', () => {
  const { access } = setUp();
  const key = access.makeKey();
  expect(access.open(key)).toMatchObject({
    cookie: expect.stringMatching(/^podloop-1=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict$/) as string,
    token: expect.stringMatching(/^[\w-]{43}$/) as string,
  });
  expect(access.open(key)).toBe('used');
  expect(access.open('guessed')).toBe('unknown');
  expect(access.open('')).toBe('unknown');
});

it('refuses a link that is too old', async () => {
  const { access, clock } = setUp();
  const [old, older] = [access.makeKey(), access.makeKey()];
  await clock.advance(LINK_LIFETIME_MS);
  expect(access.open(old)).toHaveProperty('token');
  await clock.advance(1);
  expect(access.open(older)).toBe('expired');
});

it('admits who has the cookie and the token of one session, and nobody who lacks either', () => {
  const { access, open } = setUp();
  const [mine, other] = [open(), open()];
  const cookie = `theme=dark; ${cookieOf(mine)}`;
  expect(access.admits({ cookie, 'podloop-token': mine.token })).toBe(true);
  expect(access.admits({ cookie, 'sec-websocket-protocol': `podloop.v1, podloop.token.${mine.token}` })).toBe(
    true,
  );
  expect(access.admits({ cookie })).toBe(false);
  expect(access.admits({ 'podloop-token': mine.token })).toBe(false);
  expect(access.admits({ cookie, 'podloop-token': other.token })).toBe(false);
  expect(
    access.admits({ cookie: cookieOf(mine).replace('podloop-1', 'podloop-2'), 'podloop-token': mine.token }),
  ).toBe(false);
});

it('ends a session that nobody uses, and the oldest of too many', async () => {
  const { access, open, clock } = setUp();
  const first = open();
  const headers = (session: PageSession) => ({ cookie: cookieOf(session), 'podloop-token': session.token });
  await clock.advance(11 * 3_600_000);
  expect(access.admits(headers(first))).toBe(true);
  await clock.advance(11 * 3_600_000);
  expect(access.admits(headers(first))).toBe(true);
  await clock.advance(13 * 3_600_000);
  expect(access.admits(headers(first))).toBe(false);
  const many = Array.from({ length: 17 }, open);
  expect(many.map((each) => access.admits(headers(each)))).toEqual([
    false,
    ...Array.from({ length: 16 }, () => true),
  ]);
});
