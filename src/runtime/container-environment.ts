import { type EnvVar } from '../model/env-source.js';

/** An environment variable as the container gets it. */
export interface EnvEntry {
  readonly name: string;
  readonly value: string;
}

/**
 * Puts the values of variables where `$(NAME)` stands. `$$(NAME)` gives `$(NAME)`, and what is not known stays as it
 * is. Pure.
 *
 * Source: https://kubernetes.io/docs/tasks/inject-data-application/define-interdependent-environment-variables/
 */
export function expandVariables(text: string, valueOf: (name: string) => string | undefined): string {
  return text.replace(/\$(?:\$|\(([^)]*)\))/g, (match, name: string | undefined) =>
    name === undefined ? '$' : (valueOf(name) ?? match),
  );
}

/** The variables of a container, each expanded with those before it; the last of a name holds. Pure. */
export function computeEnvironment(variables: readonly EnvVar[]): readonly EnvEntry[] {
  const values = new Map<string, string>();
  for (const { name, value = '' } of variables) {
    const expanded = expandVariables(value, (other) => values.get(other));
    // A later variable of the same name takes the later place as well.
    values.delete(name);
    values.set(name, expanded);
  }
  return [...values].map(([name, value]) => ({ name, value }));
}
