import { failure } from '../../command-failure.js';

/** Words that name objects, and what is set (`KEY=VALUE`) or, with null, removed (`KEY-`). */
export interface Assignments {
  readonly objects: readonly string[];
  readonly values: ReadonlyMap<string, string | null>;
}

/** Reads `deploy/web tier=front old-` as kubectl does. Throws a CommandFailure for a key that stands there twice. */
export function readAssignments(words: readonly string[]): Assignments {
  const objects: string[] = [];
  const values = new Map<string, string | null>();
  for (const word of words) {
    const [, key, sign, value] = /^([^=]+?)(=|-$)(.*)$/s.exec(word) ?? [];
    if (key === undefined) objects.push(word);
    else if (values.has(key)) throw failure(`${JSON.stringify(key)} stands there twice`);
    else values.set(key, sign === '=' ? value! : null);
  }
  return { objects, values };
}
