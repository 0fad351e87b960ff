import { isUtf8 } from 'node:buffer';
import { type Replacement, replaceQuoted, withPlainSpace } from '#kube/fields/replace-quoted.js';

/** An environment variable as the container gets it. */
export interface EnvEntry {
  readonly name: string;
  /** Any bytes but NUL: a Secret may hold what is no text. */
  readonly value: Buffer;
}

const SHORT_LENGTH = 4;
/**
 * What all variables and words of a command may come to: more than Linux takes, and less than does harm. Variables that
 * stand for others ten times each would be gigabytes after a few lines of a manifest.
 */
export const MOST_EXPANDED = 16 * 1024 * 1024;

/** The environment of a container, and what stands where its manifest says `$(NAME)`. */
export class ContainerEnvironment {
  /** One character for each byte: what is no text goes through unchanged. */
  readonly #values = new Map<string, string>();
  /** What came from Secrets, by the variable that had it last; of those that were set anew as well. */
  readonly #secrets = new Map<string, string>();
  #room = MOST_EXPANDED;

  /** Each name once, in the order in which its value was set last. */
  get entries(): readonly EnvEntry[] {
    return [...this.#values].map(([name, value]) => ({ name, value: Buffer.from(value, 'latin1') }));
  }

  /** Undefined for a variable that there is not. What is no UTF-8 is replaced. */
  find(name: string): string | undefined {
    const value = this.#values.get(name);
    return value === undefined ? undefined : Buffer.from(value, 'latin1').toString();
  }

  /** Sets a variable to text in which `$(NAME)` stands for those that are set by now. */
  setExpanded(name: string, text: string): void {
    this.#set(name, this.#expand(text));
  }

  /** Sets a variable to a value of a Secret, as it is. */
  setSecret(name: string, value: Uint8Array): void {
    this.setVerbatim(name, value);
    const text = Buffer.from(value).toString();
    if (text !== '') this.#secrets.set(text, name);
  }

  /** The same text with `$(NAME)` for each value of a Secret in it: for messages, which quote commands and paths. */
  hideSecrets(text: string): string {
    return replaceQuoted(text, (plain) =>
      [...this.#secrets].flatMap(([value, name]) => placesOf(withPlainSpace(value), plain, `$(${name})`)),
    );
  }

  /** Sets a variable as it is. */
  setVerbatim(name: string, value: string | Uint8Array): void {
    this.#set(name, Buffer.from(value as Uint8Array).toString('latin1'));
  }

  /** Text with the values of variables in it, for a command. Throws where that is no text, or too much. */
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
    // A later variable of the same name takes the later place as well.
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

/** Where a value stands. One of few letters is part of many words, which tell nothing of it. */
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
 * Puts the values of variables where `$(NAME)` stands. `$$(NAME)` gives `$(NAME)`, and what is not known stays as it
 * is. Throws when it comes to more than `most` characters by that. Pure.
 *
 * Source: https://kubernetes.io/docs/tasks/inject-data-application/define-interdependent-environment-variables/
 */
export function expandVariables(
  text: string,
  valueOf: (name: string) => string | undefined,
  most = MOST_EXPANDED,
): string {
  let expanded = '';
  // What begins behind it has no end: else each beginning would be looked through to the end of the text.
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
    `variables and what refers to them come to more than ${MOST_EXPANDED} bytes; mount large values as files`,
  );
}
