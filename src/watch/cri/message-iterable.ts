import { linkAbort } from '#base/async/linked-abort.js';

import { type CallOptions, type RawCaller } from './client-core.js';
import { type DeepPartial } from './generated/runtime/v1/cri.js';
import { type CriMethod } from './methods.js';

// How many messages wait for a slow reader before the server is made to wait.
const MAX_BUFFERED = 16;

/**
 * Calls a streaming method and yields its messages one by one; the call is sent when the iteration starts.
 *
 * Leaving the loop cancels the call. A slow reader makes the server wait, so never read container events this
 * way: see {@link readContainerEvents}.
 */
export async function* iterateMessages<Request, Response>(
  client: Pick<RawCaller, 'streamBytes' | 'decodeMessage'>,
  method: CriMethod<Request, Response, true>,
  request: DeepPartial<Request> = {} as DeepPartial<Request>,
  options: CallOptions = {},
): AsyncGenerator<Response, void, undefined> {
  const leave = linkAbort(options.signal);
  const buffered: Response[] = [];
  let flow: { pause(): void; resume(): void } | undefined;
  let wake: () => void = () => undefined;
  const progress = { ended: false };
  const handlers = {
    onStart: (started: { pause(): void; resume(): void }) => (flow = started),
    onMessage: (bytes: Buffer) => {
      buffered.push(client.decodeMessage(method, bytes));
      if (buffered.length >= MAX_BUFFERED) flow?.pause();
      wake();
    },
  };
  const stream = client
    .streamBytes(method, request, handlers, { ...options, signal: leave.signal })
    .finally(() => {
      progress.ended = true;
      wake();
    });
  // It is awaited below; until then a failure must not count as unhandled.
  stream.catch(() => undefined);
  try {
    for (;;) {
      const message = buffered.shift();
      if (message !== undefined) {
        if (buffered.length === 0) flow?.resume();
        yield message;
      } else if (progress.ended) {
        await stream;
        return;
      } else {
        await new Promise<void>((resolve) => (wake = resolve));
      }
    }
  } finally {
    leave.unlink();
    leave.abort();
  }
}
