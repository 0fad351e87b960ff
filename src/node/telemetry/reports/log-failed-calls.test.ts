import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type NodePod } from '#kube/pod/node-pod.js';
import { LogRecorder } from '#support/fakes/log-recorder.js';
import { aSpecPod, aSpecContainer } from '#support/builders/node-pods.js';
import { type CriCallPod, criCallEnded } from '#base/channels/channels.js';
import { logFailedCalls } from './log-failed-calls.js';
import { Channels } from '#base/channels/publishing-channel.js';

const channels = new Channels();

const pod = { uid: 'u', namespace: 'default', name: 'web' };

let logger: LogRecorder;
let wanted: NodePod | undefined;
let stop: () => void;
beforeEach(() => {
  logger = new LogRecorder();
  wanted = aSpecPod();
  const hide = (text: string, namespace: string | undefined): string =>
    namespace === pod.namespace ? text.replaceAll('s3cret', '***') : text;
  stop = logFailedCalls({ channels, logger, hide, findPod: () => wanted });
});
afterEach(() => stop());

function end(method: string, outcome: string, error?: string, about: CriCallPod = pod): void {
  channels.publish(criCallEnded, {
    call: {
      ...{ id: 1, method, operation: method, pod: about, containerId: 'c1', sandboxId: undefined },
      streaming: false,
      ...{ startedAtMonotonicMs: 0, startedAtMs: 0, deadlineMs: undefined },
    },
    ...{ durationMs: 1, outcome, unknownFields: 0, responseBytes: 0 },
    ...(error === undefined ? {} : { error }),
  });
}
const said = (): unknown[] => logger.lines.map(({ fields }) => fields.err);

describe('a failed call is logged', () => {
  it('with pod and uid, in the words of a kubelet and without the values of Secrets', () => {
    end(
      'RemoveContainer',
      'CRI_UNKNOWN',
      'remove_container of c1: rpc error: code = Unknown desc = no s3cret',
    );
    end('PullImage', 'CRI_MALFORMED_RESPONSE', 'pull_image: the answer cannot be decoded');
    stop();
    end('CreateContainer', 'CRI_UNKNOWN', 'later');
    const fields = { pod, podUID: 'u', containerID: 'c1' };
    expect(logger.lines).toEqual([
      {
        ...{ level: 'error', message: 'RemoveContainer from runtime service failed' },
        fields: { ...fields, err: 'rpc error: code = Unknown desc = no ***' },
      },
      {
        ...{ level: 'error', message: 'PullImage from image service failed' },
        fields: { ...fields, err: 'pull_image: the answer cannot be decoded' },
      },
    ]);
  });

  it('with the values of Secrets of other namespaces than that of its pod, if they stand there', () => {
    end('StopContainer', 'CRI_UNKNOWN', 'no s3cret', { ...pod, namespace: 'guesser' });
    expect(said()).toEqual(['no s3cret']);
  });

  it('when an image, or what a container is made in, is not there', () => {
    for (const method of ['PullImage', 'CreateContainer', 'RunPodSandbox']) end(method, 'CRI_NOT_FOUND');
    expect(logger.lines).toHaveLength(3);
  });

  it('with so much of it as helps', () => {
    end(
      'StopContainer',
      'CRI_UNKNOWN',
      `stop_container: rpc error: code = Unknown desc = ${'x'.repeat(60_000)}`,
    );
    expect(String(said()[0])).toHaveLength(8_192);
  });

  it.each(['CreateContainer', 'StartContainer'])(
    'by its code alone where %s may quote a Secret, however the runtime writes it',
    (method) => {
      const error = `create_container: rpc error: code = Unknown desc = exec: "p\\x69n": not found`;
      const hidden =
        'rpc error: code = Unknown desc = what the runtime says of it may quote a Secret, and is not shown';
      const env = [{ name: 'PIN', valueFrom: { secretKeyRef: { name: 'keys', key: 'pin' } } }];
      const fileKeyRef = { volumeName: 'data', path: 'own.env', key: 'PIN' };
      const takers = [
        aSpecContainer({ env }),
        aSpecContainer({ envFrom: [{ secretRef: { name: 'keys' } }] }),
        aSpecContainer({ env: [{ name: 'PIN', valueFrom: { fileKeyRef } }] }),
      ];
      for (const taker of takers) {
        wanted = aSpecPod({ initContainers: [taker] });
        end(method, 'CRI_UNKNOWN', error);
      }
      wanted = undefined;
      end(method, 'CRI_UNKNOWN', error);
      expect(said()).toEqual([hidden, hidden, hidden, hidden]);
      end('StopContainer', 'CRI_UNKNOWN', error);
      expect(said()[4]).toBe('rpc error: code = Unknown desc = exec: "p\\x69n": not found');
    },
  );
});

it.each<readonly [string, string, string]>([
  ...['ok', 'aborted', 'CRI_NOT_FOUND', 'CRI_UNAVAILABLE', 'CRI_UNIMPLEMENTED'].map(
    (outcome) => ['StopContainer', outcome, ''] as const,
  ),
  ['CreateContainer', 'CRI_ALREADY_EXISTS', 'there is one'],
  ['RunPodSandbox', 'CRI_UNKNOWN', 'failed to reserve sandbox name: name "web" is reserved for "c1"'],
  ['ExecSync', 'CRI_UNKNOWN', 'what the command has printed'],
])('nothing is logged of %s with the outcome %s', (method, outcome, error) => {
  end(method, outcome, error);
  expect(logger.lines).toEqual([]);
});
