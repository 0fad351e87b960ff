import { expect, it } from 'vitest';
import { type ApiRequest, jsonAnswer } from '../http/api-request.js';
import { type PodRow } from './pod-table.js';
import { type ClientAction, recordAction, recordUpgrade } from './record-action.js';

const metadata = { namespace: 'default', name: 'web-n1', uid: 'u1', labels: { a: 'b' } };
const findPod = (): PodRow => ({ served: { pod: { metadata } } }) as unknown as PodRow;

const requestOf = (headers: object): ApiRequest =>
  ({
    ...{ headers, params: { namespace: 'default', name: 'web' } },
    query: new URLSearchParams('container=main&command=echo&command=s3cret'),
  }) as unknown as ApiRequest;

async function ask(verb: ClientAction['verb'], headers: object, fails = false): Promise<ClientAction[]> {
  const recorded: ClientAction[] = [];
  const handler = recordAction(
    () => {
      if (fails) throw new Error('refused');
      return jsonAnswer({});
    },
    { verb, findPod, record: (action) => void recorded.push(action) },
  );
  const request = requestOf(headers);
  if (fails) await expect(Promise.resolve(handler(request))).rejects.toThrow('refused');
  else await handler(request);
  return recorded;
}

it('records what a client has changed that says who it is', async () => {
  const headers = { 'podloop-client': 'web' };
  const about = { client: 'web', namespace: 'default' };
  expect(await ask('restart', headers)).toEqual([{ verb: 'restart', ...about, name: 'web-n1', uid: 'u1' }]);
  expect(await ask('start', headers)).toEqual([{ verb: 'start', ...about, name: 'web' }]);
});

it('records in which container a command was run once it is connected, and none of its words', async () => {
  const recorded: ClientAction[] = [];
  const url = new URL('http://127.0.0.1/token');
  const handler = recordUpgrade(async () => ({ url }), {
    ...{ verb: 'exec', findPod, record: (action) => void recorded.push(action) },
  });
  const request = requestOf({ 'podloop-client': 'web' });
  // Another protocol that the runtime refuses.
  await handler(request);
  const { onJoined } = await handler(request);
  expect(recorded).toEqual([]);
  onJoined!();
  const about = { client: 'web', namespace: 'default', name: 'web-n1', uid: 'u1' };
  expect(recorded).toEqual([{ verb: 'exec', ...about, container: 'main' }]);
  (await handler(requestOf({}))).onJoined?.();
  expect(recorded).toHaveLength(1);
});

it('records nothing that was refused, or of clients that do not say who they are', async () => {
  expect(await ask('stop', { 'podloop-client': 'web' }, true)).toEqual([]);
  expect(await ask('stop', {})).toEqual([]);
  expect(await ask('stop', { 'podloop-client': 'Web\nof evil' })).toEqual([]);
});
