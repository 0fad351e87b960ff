import { type NodePod } from '#kube/pod/node-pod.js';
import { QUOTE_NOT_SHOWN, takesSecrets } from '../../runtime/quotes-secrets.js';
import { saysNameTaken } from '../../runtime/unsettled-changes.js';
import { type CriCall, criCallEnded } from '#base/channels/channels.js';
import { type Logger } from '#base/log/logger.js';

/** What {@link tellFailedCalls} needs. */
export interface TellFailedCallsOptions {
  readonly logger: Logger;
  /** Takes the values of a namespace's Secrets out of what a runtime says of a pod there; undefined: it is about no pod. */
  readonly hide: (text: string, namespace: string | undefined) => string;
  /** A pod that is wanted. */
  readonly findPod: (uid: string) => NodePod | undefined;
}

/**
 * Not told: what went well, what was given up by ourselves, and a runtime that is away for everybody, of which others
 * tell once; nor a method that the runtime does not have: who asks for one that is optional makes do, and tells of others.
 */
const QUIET = new Set(['ok', 'aborted', 'CRI_UNAVAILABLE', 'CRI_UNIMPLEMENTED']);
/** Its errors quote what a command has printed. */
const UNTOLD = new Set(['ExecSync']);
/** These fail for want of something that ought to be there; what others do not find has just gone, as things do that end. */
const TOLD_OF_ABSENCE = new Set(['PullImage', 'RunPodSandbox', 'CreateContainer']);
/** They hand over the variables and the command of a container. */
const QUOTING = new Set(['CreateContainer', 'StartContainer']);

/** More of a message is no help, and takes its time. */
const LONGEST = 8 * 1024;
const RPC_ERROR = /rpc error: code = \w+ desc = /;

/**
 * Tells in the log, in the kubelet's words, of calls that the runtime has failed, until the returned function is called.
 *
 * Of a container that gets Secrets as variables only the code is told here: who starts it knows what is to be hidden, and
 * tells the rest.
 */
export function tellFailedCalls({ logger, hide, findPod }: TellFailedCallsOptions): () => void {
  const mayQuoteSecrets = ({ method, pod }: CriCall): boolean =>
    QUOTING.has(method) && (pod === undefined || getsSecrets(findPod(pod.uid)));
  return criCallEnded.subscribe(({ call, outcome, error = outcome }) => {
    const { method, pod, containerId, sandboxId } = call;
    if (QUIET.has(outcome) || UNTOLD.has(method)) return;
    if (outcome === 'CRI_NOT_FOUND' && !TOLD_OF_ABSENCE.has(method)) return;
    // It is taken up instead.
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

/** Of a pod that nobody knows any more, nobody knows what it had. */
function getsSecrets(pod: NodePod | undefined): boolean {
  if (pod === undefined) return true;
  const { containers, initContainers = [], ephemeralContainers = [] } = pod.spec;
  return [...containers, ...initContainers, ...ephemeralContainers].some(takesSecrets);
}

/** As the kubelet has it: what the runtime said, without what was asked of it. */
function quote(error: string): string {
  const at = error.search(RPC_ERROR);
  return error.slice(Math.max(at, 0), Math.max(at, 0) + LONGEST);
}

function withoutWords(error: string, outcome: string): string {
  return `${RPC_ERROR.exec(error)?.[0] ?? `${outcome}: `}${QUOTE_NOT_SHOWN}`;
}
