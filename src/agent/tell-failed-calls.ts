import { criCallEnded } from '../util/channels.js';
import { type Logger } from '../util/logger.js';

/** What {@link tellFailedCalls} needs. */
export interface TellFailedCallsOptions {
  readonly logger: Logger;
  /** Takes the values of Secrets out of what a runtime says. */
  readonly hide: (text: string) => string;
}

/**
 * Not told: what went well, what was given up by ourselves, what is gone already, as happens whenever things end, and a
 * runtime that is away for everybody, of which others tell once; nor a method that the runtime does not have: who asks for
 * one that is optional makes do, and tells of others.
 */
const QUIET = new Set(['ok', 'aborted', 'CRI_NOT_FOUND', 'CRI_UNAVAILABLE', 'CRI_UNIMPLEMENTED']);
/** Its errors quote what a command has printed. */
const UNTOLD = new Set(['ExecSync']);

/** Tells in the log, in the kubelet's words, of calls that the runtime has failed, until the returned function is called. */
export function tellFailedCalls({ logger, hide }: TellFailedCallsOptions): () => void {
  return criCallEnded.subscribe(({ call, outcome, error }) => {
    const { method, pod, containerId, sandboxId } = call;
    if (QUIET.has(outcome) || UNTOLD.has(method)) return;
    const service = /Image/.test(method) ? 'image' : 'runtime';
    logger.error(`${method} from ${service} service failed`, hide(error ?? outcome), {
      ...(pod === undefined ? {} : { pod, podUID: pod.uid }),
      ...(containerId === undefined ? {} : { containerID: containerId }),
      ...(sandboxId === undefined ? {} : { podSandboxID: sandboxId }),
    });
  });
}
