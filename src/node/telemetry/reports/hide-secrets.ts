/**
 * Hides the values of Secrets in the output of commands, in errors of runtimes about them, and in messages of
 * probes.
 *
 * In: text from containers. Out: the same with `***` in place of values of their pod's namespace, before it
 * is logged or gets into an event or a status. Events and records of the history pass through the same hider
 * once more, as they also quote runtimes.
 *
 * @module
 */
import { StringDecoder } from 'node:string_decoder';
import { GrpcStatusError } from '#watch';
import { type SecretHider } from '#kube/objects/secret-hider.js';
import { type RunProbe } from '../../probes/probe-judge.js';
import { MAX_OUTPUT_BYTES } from '../../probes/probe-outcome.js';
import { type RuntimeChanges } from '../../runtime/runtime-changes.js';
import { PodloopError } from '#base/errors/errors.js';

/** Runs commands in containers. */
type Commands = Pick<RuntimeChanges, 'execSync'>;
type Hider = Pick<SecretHider, 'hide'>;
type Hide = (text: string) => string;

/**
 * The same commands, with their output hidden and cut to what is ever shown; the error of a runtime may quote
 * it, too.
 */
export function hideInCommands(commands: Commands, hider: Hider): Commands {
  return {
    execSync: async (...call) => {
      const [, , , options] = call;
      const hide: Hide = (text) => hider.hide(text, options?.pod?.namespace);
      const { exitCode, stdout, stderr } = await commands.execSync(...call).catch((error: unknown) => {
        throw hideInError(error, hide);
      });
      return { exitCode, stdout: hideInBytes(stdout, hide), stderr: hideInBytes(stderr, hide) };
    },
  };
}

/** The same probes: bodies of HTTP answers and messages of gRPC also come from the container. */
export function hideInProbes(runProbe: RunProbe, hider: Hider): RunProbe {
  return async (...call) => {
    const outcome = await runProbe(...call);
    const [{ pod }] = call;
    const message = hider.hide(outcome.message, pod.namespace);
    return message === outcome.message ? outcome : { ...outcome, message };
  };
}

/** The same error if it contains no value; otherwise a copy with values hidden, also in a gRPC status as cause. */
function hideInError(error: unknown, hide: Hide): unknown {
  if (!(error instanceof Error)) return error;
  const message = hide(error.message);
  const said = error.cause instanceof GrpcStatusError ? error.cause : undefined;
  const details = hide(said?.details ?? '');
  if (message === error.message && details === (said?.details ?? '')) return error;
  const cause = said === undefined ? undefined : new GrpcStatusError(said.status, details);
  return error instanceof PodloopError
    ? new PodloopError(error.code, message, { cause })
    : new Error(message, { cause });
}

/** A character that is cut in two would not match that of the value. */
function hideInBytes(bytes: Buffer, hide: Hide): Buffer {
  const isCut = bytes.length > MAX_OUTPUT_BYTES;
  const text = isCut
    ? new StringDecoder('utf8').write(bytes.subarray(0, MAX_OUTPUT_BYTES))
    : bytes.toString('utf8');
  const shown = hide(text);
  return shown === text && !isCut ? bytes : Buffer.from(shown);
}
