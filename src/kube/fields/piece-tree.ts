/**
 * A stretch of text that every piece below shares. Every branch but the root ends a piece or has two or more
 * children.
 */
interface Branch {
  edge: string;
  isEnd: boolean;
  /** By the first character of their edge. */
  readonly next: Map<number, Branch>;
}

/** Options of {@link PieceTree}. */
export interface PieceTreeOptions {
  /** At the end of the text, this many characters of a piece count as the piece. */
  readonly shortest: number;
}

/** This many characters of a piece count as far as they match, as nobody writes them by chance. */
const TELLING = 32;

/**
 * Finds pieces in a text, with a prefix tree of the pieces.
 *
 * Checking one position of a text takes at most {@link TELLING} steps more than the match is long, however
 * many pieces there are, however long they are, and however similar their beginnings.
 */
export class PieceTree {
  readonly #root: Branch = { edge: '', isEnd: false, next: new Map() };
  readonly #shortest: number;

  constructor({ shortest }: PieceTreeOptions) {
    this.#shortest = shortest;
  }

  /** Has no effect if the piece is already there. */
  add(piece: string): void {
    let branch = this.#root;
    for (let at = 0; at < piece.length;) {
      const first = piece.charCodeAt(at);
      const next = branch.next.get(first);
      if (next === undefined) {
        branch.next.set(first, { edge: piece.slice(at), isEnd: true, next: new Map() });
        return;
      }
      const shared = countShared(next.edge, piece, at);
      branch = shared === next.edge.length ? next : splitOff(branch, next, shared);
      at += shared;
    }
    branch.isEnd = true;
  }

  /** Has no effect if the piece is not there. */
  delete(piece: string): void {
    let [above, branch] = [this.#root, this.#root];
    for (let at = 0; at < piece.length;) {
      const next = branch.next.get(piece.charCodeAt(at));
      if (next === undefined || !piece.startsWith(next.edge, at)) return;
      [above, branch] = [branch, next];
      at += next.edge.length;
    }
    branch.isEnd = false;
    if (branch.next.size === 0) above.next.delete(branch.edge.charCodeAt(0));
    for (const each of [branch, above]) if (each !== this.#root) joinOnly(each);
  }

  /** How many characters at this position belong to the longest piece there; 0 if there is none. */
  lengthAt(text: string, at: number): number {
    let longest = 0;
    let end = at;
    for (let branch: Branch | undefined = this.#root; branch !== undefined;) {
      const shared = countShared(branch.edge, text, end);
      end += shared;
      if (shared < branch.edge.length) break;
      if (branch.isEnd) longest = end - at;
      branch = end < text.length ? branch.next.get(text.charCodeAt(end)) : undefined;
    }
    const enough = end === text.length ? this.#shortest : TELLING;
    return end - at >= enough ? end - at : longest;
  }
}

/** How many characters of the text at this position match the beginning of the edge. */
function countShared(edge: string, text: string, at: number): number {
  const most = Math.min(edge.length, text.length - at);
  let shared = 0;
  while (shared < most && edge.charCodeAt(shared) === text.charCodeAt(at + shared)) shared++;
  return shared;
}

/** Inserts a branch between two, for the part that a new piece shares with the lower one. */
function splitOff(above: Branch, below: Branch, shared: number): Branch {
  const between: Branch = { edge: below.edge.slice(0, shared), isEnd: false, next: new Map() };
  above.next.set(below.edge.charCodeAt(0), between);
  below.edge = below.edge.slice(shared);
  between.next.set(below.edge.charCodeAt(0), below);
  return between;
}

/** Merges a branch with its only child, if it neither ends a piece nor forks. */
function joinOnly(branch: Branch): void {
  const [only] = branch.next.values();
  if (branch.isEnd || branch.next.size !== 1 || only === undefined) return;
  branch.edge += only.edge;
  branch.isEnd = only.isEnd;
  branch.next.clear();
  for (const [first, next] of only.next) branch.next.set(first, next);
}
