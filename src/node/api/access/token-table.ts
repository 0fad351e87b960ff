import { createHash, timingSafeEqual } from 'node:crypto';

/** Who somebody is, once he has shown it. */
export interface ApiUser {
  readonly name: string;
  readonly groups: readonly string[];
  /** What a cluster says of him besides. */
  readonly uid?: string;
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

/** Who has shown nothing. */
export const ANONYMOUS: ApiUser = { name: 'system:anonymous', groups: ['system:unauthenticated'] };

/** A line of a token file that is wrong. */
class TokenFileError extends Error {
  override readonly name = 'TokenFileError';
}

interface TokenEntry extends ApiUser {
  readonly digest: Buffer;
}

/**
 * Who has which token: lines of `token,user,uid` or `token,user,uid,"group1,group2"`, as Kubernetes' static token file.
 *
 * Tokens themselves are not kept, and finding one takes the same time whichever it is.
 */
export class TokenTable {
  static readonly empty = new TokenTable([]);
  readonly #entries: readonly TokenEntry[];

  /** Reads the text of a file. Throws {@link TokenFileError} with the number of the line, never with what is in it. */
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

  /** Undefined for a token that nobody has. */
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
  // Such could stand in no header.
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

/** Fields with commas between, in double quotes where a comma is part of one; undefined for anything else. */
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
