import { expect, it } from 'vitest';
import { aPod, aSandbox } from '#testing/builders.js';
import { runtimeStreams } from './agent-streams.js';

const { signal } = new AbortController();
const POD = { uid: 'uid-web', namespace: 'default', name: 'web' };

it('forwards ports into the sandbox that the newest list shows ready, whether or not the runtime reports more of it', async () => {
  const asked: unknown[] = [];
  const sandboxes = [aSandbox({ id: 'new' }), aSandbox({ id: 'old', state: 'exited' })];
  const streams = runtimeStreams({
    client: {
      portForward: async (request: unknown) => {
        asked.push(request);
        return Promise.resolve({ url: 'http://127.0.0.1/forward' });
      },
    } as never,
    pleg: { findObserved: (uid) => (uid === POD.uid ? aPod({ sandboxes }) : undefined) },
  });
  expect(await streams.portForward(POD, [80], signal)).toBe('http://127.0.0.1/forward');
  expect(asked).toEqual([{ podSandboxId: 'new', port: [80] }]);
  await expect(streams.portForward({ ...POD, uid: 'other' }, [80], signal)).rejects.toThrow(
    'pod web has no sandbox that is ready',
  );
});
