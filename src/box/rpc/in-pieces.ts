/** A few hundred objects stay far below the smallest message limit, 4 MiB. */
const PIECE = 200;

/** Cuts a list into pieces for a stream of messages. An empty list gives no piece. */
export function* inPieces<T>(items: readonly T[], itemsInPiece = PIECE): Generator<T[]> {
  for (let at = 0; at < items.length; at += itemsInPiece) yield items.slice(at, at + itemsInPiece);
}
