import { type Container } from '#kube/container/container.js';
import { expandVariables } from './config/container-environment.js';
import { mayBeSecret } from './config/resolve-environment.js';

/** Replaces a message of a runtime that may quote a value of a Secret, for people. */
export const QUOTE_NOT_SHOWN = 'what the runtime says of it may quote a Secret, and is not shown';

/**
 * Whether a value of a Secret, or of a file of variables, may be in a container's command, and so in messages of the
 * runtime. Pure.
 *
 * It uses only the manifest, as the Secret may have changed by now, or be gone.
 */
export function quotesSecrets({ command = [], args = [], env = [], envFrom = [] }: Container): boolean {
  const anyName = envFrom.some(({ secretRef }) => secretRef !== undefined);
  const own = new Set(env.map(({ name }) => name));
  const secret = new Set<string>();
  for (const { name, value = '', valueFrom } of env) {
    if (mayBeSecret(valueFrom) || refersTo(value)) secret.add(name);
  }
  return [...command, ...args].some(refersTo);

  function refersTo(text: string): boolean {
    let isFound = false;
    expandVariables(text, (name) => {
      if (secret.has(name) || (anyName && !own.has(name))) isFound = true;
      return undefined;
    });
    return isFound;
  }
}

/**
 * Whether a container has values of Secrets, or of files of variables, in its environment, which a runtime may quote
 * when creation fails. Pure.
 */
export function takesSecrets({ env = [], envFrom = [] }: Container): boolean {
  return (
    env.some(({ valueFrom }) => mayBeSecret(valueFrom)) ||
    envFrom.some(({ secretRef }) => secretRef !== undefined)
  );
}
