import { type ApiRequest, type UpgradeHandler } from '../http/api-request.js';
import { type PodRow } from './pod-table.js';

/** What a client has asked for. */
export type ActionVerb = 'stop' | 'start' | 'restart' | 'exec';

/** A change of a pod, or a command in it, that a client has asked for, and that was accepted. */
export interface ClientAction {
  readonly verb: ActionVerb;
  /** As it calls itself, such as `web`. */
  readonly client: string;
  readonly namespace: string;
  readonly name: string;
  /** Absent for a pod that did not run. */
  readonly uid?: string;
  /** Where a command runs; absent for a pod's only container. */
  readonly container?: string;
}

/** The header in which a client says who it is, for the history. */
const CLIENT_HEADER = 'podloop-client';
const CLIENT_NAME = /^[a-z][a-z0-9-]{0,31}$/;

/** What {@link recordAction} needs. */
export interface RecordActionOptions {
  readonly verb: ActionVerb;
  readonly findPod: (request: ApiRequest) => PodRow;
  readonly record: ((action: ClientAction) => void) | undefined;
}

/** The handler, whose changes are recorded for clients that say who they are. */
export function recordAction<Answer>(
  handler: (request: ApiRequest) => Answer | Promise<Answer>,
  options: RecordActionOptions,
): (request: ApiRequest) => Promise<Answer> {
  return async (request) => {
    const record = prepareRecord(request, options);
    const answer = await handler(request);
    record();
    return answer;
  };
}

/**
 * The same for an upgrade, which is recorded once the runtime has agreed to it: a client that is refused one protocol may ask
 * again with another. Of a command the history has where it ran; the words of one may be secret.
 */
export function recordUpgrade(handler: UpgradeHandler, options: RecordActionOptions): UpgradeHandler {
  return async (request) => {
    const record = prepareRecord(request, options);
    const { url, onJoined } = await handler(request);
    return {
      url,
      onJoined: () => {
        onJoined?.();
        record();
      },
    };
  };
}

/** What records it; does nothing for clients that do not say who they are. */
function prepareRecord(request: ApiRequest, { verb, findPod, record }: RecordActionOptions): () => void {
  const client = request.headers[CLIENT_HEADER];
  if (record === undefined || typeof client !== 'string' || !CLIENT_NAME.test(client)) return () => undefined;
  // Afterwards it may be gone.
  const pod = verb === 'start' ? undefined : findPod(request).served.pod.metadata;
  const { namespace = '', name = '' } = pod ?? request.params;
  const container = verb === 'exec' ? request.query.get('container') : null;
  return () =>
    record({
      ...{ verb, client, namespace, name },
      ...(pod === undefined ? {} : { uid: pod.uid }),
      ...(container === null || container === '' ? {} : { container }),
    });
}
