import { type Channels } from '#base/channels/publishing-channel.js';
import { type NodePod } from '#kube/pod/node-pod.js';
import { QUOTE_NOT_SHOWN, takesSecrets } from '../../runtime/quotes-secrets.js';
import { saysNameTaken } from '../../runtime/unsettled-changes.js';
import { type CriCall, criCallEnded } from '#base/channels/channels.js';
import { type Logger } from '#base/log/logger.js';

/** What {@link logFailedCalls} needs. */
export interface LogFailedCallsOptions {
  readonly channels: Channels;
  readonly logger: Logger;
  /**
   * Removes secret values of a namespace from a runtime's message about a pod there; undefined: it is about
   * no pod.
   */
  readonly hide: (text: string, namespace: string | undefined) => string;
  /** Finds a desired pod. */
  readonly findPod: (uid: string) => NodePod | undefined;
}

/**
 * Outcomes that are not logged: success, cancellation, a runtime that is away, and a method that it does not
 * have.
 *
 * Other parts log once that a runtime is away. Whoever calls an optional method handles and logs its absence.
 */
const QUIET = new Set(['ok', 'aborted', 'CRI_UNAVAILABLE', 'CRI_UNIMPLEMENTED']);
/** Its errors quote the output of a command. */
const UNLOGGED = new Set(['ExecSync']);
/**
 * For these calls a missing object is a failure; for others, it has just disappeared, as ending things do.
 */
const LOGGED_WHEN_ABSENT = new Set(['PullImage', 'RunPodSandbox', 'CreateContainer']);
/** They pass the variables and the command of a container. */
const QUOTING = new Set(['CreateContainer', 'StartContainer']);

/** More of a message does not help, and costs time. */
const LONGEST = 8 * 1024;
const RPC_ERROR = /rpc error: code = \w+ desc = /;

/**
 * Logs failed calls of the runtime in the kubelet's words, until the returned function is called.
 *
 * For a container with Secrets in its variables it logs only the code: the part that starts the container
 * knows what to hide, and logs the rest.
 */
export function logFailedCalls({ channels, logger, hide, findPod }: LogFailedCallsOptions): () => void {
  const mayQuoteSecrets = ({ method, pod }: CriCall): boolean =>
    QUOTING.has(method) && (pod === undefined || getsSecrets(findPod(pod.uid)));
  return channels.subscribe(criCallEnded, ({ call, outcome, error = outcome }) => {
    const { method, pod, containerId, sandboxId } = call;
    if (QUIET.has(outcome) || UNLOGGED.has(method)) return;
    if (outcome === 'CRI_NOT_FOUND' && !LOGGED_WHEN_ABSENT.has(method)) return;
    // The existing object is used instead.
    if (saysNameTaken(outcome, error)) return;
    const service = /Image/.test(method) ? 'image' : 'runtime';
    const said = mayQuoteSecrets(call) ? withoutWords(error, outcome) : hide(quote(error), pod?.namespace);
    logger.error(`${method} from ${service} service failed`, said, {
      ...(pod === undefined ? {} : { pod, podUID: pod.uid }),
      ...(containerId === undefined ? {} : { containerID: containerId }),
      ...(sandboxId === undefined ? {} : { podSandboxID: sandboxId }),
    });
  });
}

/** Nobody knows what an unknown pod had. */
function getsSecrets(pod: NodePod | undefined): boolean {
  if (pod === undefined) return true;
  const { containers, initContainers = [], ephemeralContainers = [] } = pod.spec;
  return [...containers, ...initContainers, ...ephemeralContainers].some(takesSecrets);
}

/** Like the kubelet's: the runtime's words, without the request. */
function quote(error: string): string {
  const at = error.search(RPC_ERROR);
  return error.slice(Math.max(at, 0), Math.max(at, 0) + LONGEST);
}

function withoutWords(error: string, outcome: string): string {
  return `${RPC_ERROR.exec(error)?.[0] ?? `${outcome}: `}${QUOTE_NOT_SHOWN}`;
}
