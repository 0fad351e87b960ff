import { isUtf8 } from 'node:buffer';
import { type Replacement, replaceQuoted, withPlainSpace } from '#kube/fields/replace-quoted.js';
import { SecretValues } from '#kube/objects/secret-values.js';

/** An environment variable as the container gets it. */
export interface EnvEntry {
  readonly name: string;
  /** Any bytes but NUL: a Secret may contain something that is not text. */
  readonly value: Buffer;
}

const SHORT_LENGTH = 4;
/** How many values and lines of values are looked for in a message; the variables have less room than that. */
const MAX_PARTS = 100_000;
/**
 * Limit for the total size of variables and command words: more than Linux takes, less than does harm.
 *
 * Variables that expand to ten others each would be gigabytes after a few lines of a manifest.
 */
export const MAX_EXPANDED = 16 * 1024 * 1024;

/** The environment of a container, and the expansion of `$(NAME)` in its manifest. */
export class ContainerEnvironment {
  /** One character per byte, so that values that are not text stay unchanged. */
  readonly #values = new Map<string, string>();
  /** Values of Secrets, by the variable that last had them; includes overwritten ones. */
  readonly #secrets = new Map<string, string>();
  #room = MAX_EXPANDED;

  /** Each name once, in the order in which values were last set. */
  get entries(): readonly EnvEntry[] {
    return [...this.#values].map(([name, value]) => ({ name, value: Buffer.from(value, 'latin1') }));
  }

  /** Undefined for an unknown variable. Invalid UTF-8 is replaced. */
  find(name: string): string | undefined {
    const value = this.#values.get(name);
    return value === undefined ? undefined : Buffer.from(value, 'latin1').toString();
  }

  /** Sets a variable to text in which `$(NAME)` expands to variables that are already set. */
  setExpanded(name: string, text: string): void {
    this.#set(name, this.#expand(text));
  }

  /** Sets a variable to a value of a Secret, unexpanded. */
  setSecret(name: string, value: Uint8Array): void {
    this.setVerbatim(name, value);
    const text = Buffer.from(value).toString();
    if (text !== '') this.#secrets.set(text, name);
  }

  /**
   * Replaces each value of a Secret in a text by its `$(NAME)`: for messages, which quote commands and paths.
   *
   * A message may end within a value, at the end of its first line or where it was cut: `***` replaces such
   * parts.
   */
  hideSecrets(text: string): string {
    if (this.#secrets.size === 0) return text;
    const named = replaceQuoted(text, (plain) =>
      [...this.#secrets].flatMap(([value, name]) => placesOf(withPlainSpace(value), plain, `$(${name})`)),
    );
    const parts = new SecretValues({ capacity: MAX_PARTS });
    parts.learn({ data: new Map([...this.#secrets.keys()].map((value) => [value, Buffer.from(value)])) });
    return parts.hide(named);
  }

  /** Sets a variable to an unexpanded value. */
  setVerbatim(name: string, value: string | Uint8Array): void {
    this.#set(name, Buffer.from(value as Uint8Array).toString('latin1'));
  }

  /**
   * Expands variables in a word of a command. Throws if a value is not text, or if the result is too long.
   */
  expand(text: string): string {
    const expanded = this.#expand(text);
    this.#take(expanded);
    const bytes = Buffer.from(expanded, 'latin1');
    if (isUtf8(bytes)) return bytes.toString();
    throw new Error(`${JSON.stringify(text)} refers to a variable that is no UTF-8 text`);
  }

  #set(name: string, value: string): void {
    if (value.includes('\0')) {
      throw new Error(
        `environment variable ${JSON.stringify(name)} has a NUL character, which none can hold`,
      );
    }
    this.#take(value);
    // A later variable of the same name also takes the later position.
    this.#values.delete(name);
    this.#values.set(name, value);
  }

  #expand(text: string): string {
    const find = (name: string): string | undefined => this.#values.get(name);
    return expandVariables(Buffer.from(text).toString('latin1'), find, this.#room);
  }

  #take({ length }: string): void {
    this.#room -= length;
    if (this.#room < 0) throw tooMuch();
  }
}

/** Where a value occurs. Ignores short values within words: they reveal nothing there. */
function placesOf(value: string, text: string, shown: string): Replacement[] {
  const found: Replacement[] = [];
  const isPart = (at: number): boolean => value.length < SHORT_LENGTH && /\w/.test(text.charAt(at));
  for (let start = text.indexOf(value); start >= 0; start = text.indexOf(value, start + 1)) {
    const end = start + value.length;
    if (!isPart(start - 1) && !isPart(end)) found.push({ start, end, shown });
  }
  return found;
}

/**
 * Replaces `$(NAME)` by the value of the variable. `$$(NAME)` gives `$(NAME)`; unknown names stay as they
 * are. Pure.
 *
 * Throws when that makes the text longer than `most` characters.
 *
 * Source:
 * https://kubernetes.io/docs/tasks/inject-data-application/define-interdependent-environment-variables/
 */
export function expandVariables(
  text: string,
  valueOf: (name: string) => string | undefined,
  most = MAX_EXPANDED,
): string {
  let expanded = '';
  // A reference that begins after this has no end; without this check, each would search to the end of the
  // text.
  const lastEnd = text.lastIndexOf(')');
  let [from, at] = [0, text.indexOf('$')];
  while (at !== -1) {
    const next = text[at + 1];
    if (next === '$') {
      expanded += text.slice(from, at + 1);
      from = at + 2;
    } else if (next === '(' && at < lastEnd) {
      const end = text.indexOf(')', at);
      const value = valueOf(text.slice(at + 2, end));
      expanded += text.slice(from, at) + (value ?? text.slice(at, end + 1));
      if (value !== undefined && expanded.length > most) throw tooMuch();
      from = end + 1;
    }
    at = text.indexOf('$', Math.max(from, at + 1));
  }
  return expanded + text.slice(from);
}

function tooMuch(): Error {
  return new Error(
    `variables and what refers to them come to more than ${MAX_EXPANDED} bytes; mount large values as files`,
  );
}
