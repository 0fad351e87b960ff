import { expect, it } from 'vitest';
import { LogRecorder } from '../testing/log-recorder.js';
import { criCallEnded } from '../util/channels.js';
import { tellFailedCalls } from './tell-failed-calls.js';

const pod = { uid: 'u', namespace: 'default', name: 'web' };

function end(method: string, outcome: string, error?: string): void {
  criCallEnded.publish({
    call: {
      ...{ id: 1, method, operation: method, pod, containerId: 'c1', sandboxId: undefined, streaming: false },
      ...{ startedAtMonotonicMs: 0, startedAtMs: 0, deadlineMs: undefined },
    },
    ...{ durationMs: 1, outcome, unknownFields: 0, responseBytes: 0 },
    ...(error === undefined ? {} : { error }),
  });
}

it('tells of calls that failed, with pod and uid, in the words of a kubelet and without the values of Secrets', () => {
  const logger = new LogRecorder();
  const stop = tellFailedCalls({ logger, hide: (text) => text.replaceAll('s3cret', '***') });
  end('CreateContainer', 'CRI_UNKNOWN', 'cannot run s3cret');
  end('PullImage', 'CRI_UNKNOWN', 'no such image');
  for (const outcome of ['ok', 'aborted', 'CRI_NOT_FOUND', 'CRI_UNAVAILABLE', 'CRI_UNIMPLEMENTED']) {
    end('StopContainer', outcome);
  }
  end('ExecSync', 'CRI_UNKNOWN', 'what the command has printed');
  stop();
  end('CreateContainer', 'CRI_UNKNOWN', 'later');
  expect(logger.lines).toEqual([
    {
      ...{ level: 'error', message: 'CreateContainer from runtime service failed' },
      fields: { err: 'cannot run ***', pod, podUID: 'u', containerID: 'c1' },
    },
    {
      ...{ level: 'error', message: 'PullImage from image service failed' },
      fields: { err: 'no such image', pod, podUID: 'u', containerID: 'c1' },
    },
  ]);
});
