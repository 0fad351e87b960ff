/**
 * What a JSONPath template of kubectl is made of.
 *
 * @module
 */

/** One bound of a slice; undefined when it was left out. */
export type SliceBound = number | undefined;

/** A step of a path, or a value in it. */
export type PathNode =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'value'; readonly value: number | boolean }
  | { readonly kind: 'field'; readonly name: string }
  | { readonly kind: 'index'; readonly at: number }
  | { readonly kind: 'slice'; readonly from: SliceBound; readonly to: SliceBound; readonly step: SliceBound }
  | { readonly kind: 'wildcard' }
  | { readonly kind: 'recursive' }
  | { readonly kind: 'union'; readonly paths: readonly Path[] }
  | {
      readonly kind: 'filter';
      readonly left: Path;
      /** Empty when only is asked whether there is something. */
      readonly operator: string;
      readonly right: Path;
    };

/** Steps that are taken one after the other. */
export type Path = readonly PathNode[];

/** A piece of a template. */
export type TemplatePart =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'path'; readonly path: Path }
  /** The body for each result of the path. */
  | { readonly kind: 'range'; readonly path: Path; readonly body: readonly TemplatePart[] };

/** A template or path that is wrong, or does not fit what it is used on; its message is kubectl's. */
export class PathError extends Error {
  override readonly name = 'PathError';
}
