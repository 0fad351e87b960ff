import { createHash, timingSafeEqual } from 'node:crypto';

/** An identified user. */
export interface ApiUser {
  readonly name: string;
  readonly groups: readonly string[];
  /** What a cluster knows about the user besides. */
  readonly uid?: string;
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

/** A client without credentials. */
export const ANONYMOUS: ApiUser = { name: 'system:anonymous', groups: ['system:unauthenticated'] };

/** An invalid line of a token file. */
class TokenFileError extends Error {
  override readonly name = 'TokenFileError';
}

interface TokenEntry extends ApiUser {
  readonly digest: Buffer;
}

/**
 * The users of tokens: lines of `token,user,uid` or `token,user,uid,"group1,group2"`, as in Kubernetes'
 * static token file.
 *
 * Tokens themselves are not stored, and finding any of them takes the same time.
 */
export class TokenTable {
  static readonly empty = new TokenTable([]);
  readonly #entries: readonly TokenEntry[];

  /** Parses a file. Throws {@link TokenFileError} with the number of the line, never with its content. */
  static parse(text: string): TokenTable {
    const entries = text.split(/\r?\n/).flatMap((line, index) => parseLine(line, index + 1));
    const digests = new Set(entries.map(({ digest }) => digest.toString('hex')));
    if (digests.size < entries.length) throw new TokenFileError('a token is there twice');
    return new TokenTable(entries);
  }

  private constructor(entries: readonly TokenEntry[]) {
    this.#entries = entries;
  }

  get size(): number {
    return this.#entries.length;
  }

  /** Undefined for an unknown token. */
  find(token: string): ApiUser | undefined {
    const asked = digestOf(token);
    let found: TokenEntry | undefined;
    for (const entry of this.#entries) if (timingSafeEqual(entry.digest, asked)) found = entry;
    return found;
  }
}

function parseLine(line: string, number: number): TokenEntry[] {
  if (line.trim() === '' || line.startsWith('#')) return [];
  const fields = splitFields(line);
  if (fields === undefined || fields.length < 3 || fields.length > 4) {
    throw new TokenFileError(`line ${number} is not token,user,uid or token,user,uid,"group1,group2"`);
  }
  const [token = '', name = '', uid = '', groups = ''] = fields;
  for (const [what, value] of [['token', token] as const, ['user', name] as const, ['uid', uid] as const]) {
    if (value === '') throw new TokenFileError(`line ${number} has no ${what}`);
  }
  // No header could contain such a token.
  if (!/^[\x21-\x7e]+$/.test(token))
    throw new TokenFileError(`line ${number} has a token that no header can carry`);
  return [
    {
      digest: digestOf(token),
      name,
      groups: groups
        .split(',')
        .map((each) => each.trim())
        .filter(Boolean),
    },
  ];
}

/** Comma-separated fields, in double quotes where a comma is part of one; undefined for anything else. */
function splitFields(line: string): string[] | undefined {
  const fields: string[] = [];
  let rest = line;
  for (;;) {
    const match = /^\s*(?:"((?:[^"]|"")*)"|([^",]*))\s*(,|$)/.exec(rest);
    if (match === null) return undefined;
    fields.push(match[1]?.replaceAll('""', '"') ?? match[2]!.trim());
    rest = rest.slice(match[0].length);
    if (match[3] === '') return fields;
  }
}

function digestOf(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}
