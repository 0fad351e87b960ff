/** A part of a row, from left to right. */
export interface Extent {
  readonly fromPx: number;
  readonly toPx: number;
}

/** Where the words of something may stand: within it, at its begin or at its end. */
export interface LabelRoom extends Extent {
  readonly widthPx: number;
  readonly isAtEnd: boolean;
}

const GAP_PX = 3;

/** Places in a row that are taken: what stands there is read, and not drawn over. */
export class LabelPlaces {
  readonly #taken: Extent[];

  constructor(taken: readonly Extent[]) {
    this.#taken = [...taken];
  }

  /** Takes the first free place, and returns its left edge; undefined if none is large enough. */
  take({ fromPx, toPx, widthPx, isAtEnd }: LabelRoom): number | undefined {
    let left = isAtEnd ? toPx - widthPx : fromPx;
    for (;;) {
      if (left < fromPx || left + widthPx > toPx) return undefined;
      const other = this.#taken.find(
        (each) => each.fromPx < left + widthPx + GAP_PX && each.toPx > left - GAP_PX,
      );
      if (other === undefined) break;
      left = isAtEnd ? other.fromPx - widthPx - GAP_PX : other.toPx + GAP_PX;
    }
    this.#taken.push({ fromPx: left, toPx: left + widthPx });
    return left;
  }
}
