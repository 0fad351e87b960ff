import { expect, it } from 'vitest';
import { PodsFeed } from './pods-feed.js';
import { type Session, type StreamReader } from './session.js';
import { describeEnd } from './shown-pod.js';

it('shows characters that reorder a text, wherever a status has them', () => {
  let reader: StreamReader | undefined;
  const session = {
    stream: (_: string, given: StreamReader) => {
      reader = given;
      return { close: () => undefined };
    },
  } as unknown as Session;
  const feed = new PodsFeed(session, () => undefined);
  const hostile = 'fine \u202Edellik';
  const status = {
    conditions: [{ type: 'Ready', status: 'False', message: hostile }],
    containerStatuses: [
      {
        name: 'main',
        state: { waiting: { message: hostile } },
        lastState: { terminated: { exitCode: 1, message: hostile } },
      },
    ],
  };
  const object = { metadata: { uid: 'u', name: 'web', namespace: 'default' }, status };
  reader!.onLines([JSON.stringify({ type: 'ADDED', object }), 'no JSON']);
  const pod = feed.find('default', 'web')!;
  expect(JSON.stringify(pod)).not.toContain('\u202E');
  const shown = 'fine \\u202Edellik';
  const [container] = pod.status!.containerStatuses!;
  expect(pod.status!.conditions![0]!.message).toBe(shown);
  expect(container!.state!.waiting!.message).toBe(shown);
  expect(describeEnd({ name: 'main', state: container!.lastState! })).toBe(
    `main ended: exit code 1, ${shown}`,
  );
});
