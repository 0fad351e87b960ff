import { setImmediate as nextRound } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { FakeClock } from '#testing/fake-clock.js';
import { LogRecorder } from '#support/fakes/log-recorder.js';
import { LAST_SESSIONS_MS, OpenSessions } from './open-sessions.js';
import { type StreamRequest } from './stream-request.js';

const EXEC: StreamRequest = {
  kind: 'exec',
  containerId: 'c1',
  argv: ['dd', 'of=/stuck'],
  tty: false,
  stdin: false,
  stdout: true,
  stderr: true,
};
const FORWARD: StreamRequest = { kind: 'portforward', sandboxId: 's1', ports: [] };

function setUp() {
  const clock = new FakeClock();
  const logger = new LogRecorder();
  return { clock, logger, sessions: new OpenSessions({ clock, logger }) };
}

it('are waited for until the last one has ended, and no longer', async () => {
  const { clock, logger, sessions } = setUp();
  const ends: (() => void)[] = [];
  for (let made = 0; made < 2; made++) sessions.add(EXEC, new Promise((resolve) => ends.push(resolve)));
  let over = false;
  const end = sessions.waitForEnd().then(() => (over = true));
  ends[0]!();
  await nextRound();
  expect([over, sessions.count]).toEqual([false, 1]);
  ends[1]!();
  await end;
  expect(sessions.count).toBe(0);
  expect(clock.pendingTimers).toBe(0);
  expect(logger.complaints).toEqual([]);
});

it('that never end are given up after a while and named, without what may be secret', async () => {
  const { clock, logger, sessions } = setUp();
  const stuck = new Promise<void>(() => undefined);
  sessions.add(EXEC, stuck);
  sessions.add(FORWARD, stuck);
  sessions.add(FORWARD, Promise.resolve());
  const end = sessions.waitForEnd();
  await clock.advance(LAST_SESSIONS_MS);
  await end;
  expect(logger.complaints).toMatchObject([
    {
      level: 'warn',
      fields: { count: 2, left: ['exec of dd in container c1', 'port-forward into sandbox s1'] },
    },
  ]);
});

it('that fail are logged and forgotten', async () => {
  const { logger, sessions } = setUp();
  sessions.add(EXEC, Promise.reject(new Error('broken')));
  await nextRound();
  expect(sessions.count).toBe(0);
  expect(logger.complaints).toMatchObject([{ level: 'error', message: 'Streaming session failed' }]);
});
