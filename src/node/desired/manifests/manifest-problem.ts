import { type FieldProblemKind } from '#kube/fields/field-problem.js';

/**
 * The kind of a problem: a {@link FieldProblemKind}, or one of the text.
 *
 * `syntax` includes duplicate keys, too much nesting, and too large files; `kind` is for an object that is
 * not a pod.
 */
export type ManifestProblemKind = FieldProblemKind | 'syntax' | 'kind';

/** Where an object begins. */
export interface ManifestPlace {
  /** As the caller named it; `<stdin>` for standard input. */
  readonly file: string;
  /** From 1. */
  readonly line: number;
  /** From 1. */
  readonly column: number;
}

/** One problem of a manifest. */
export interface ManifestProblem extends ManifestPlace {
  readonly kind: ManifestProblemKind;
  /**
   * The path in the object in Kubernetes' form: `spec.containers[0].image`; empty for the object or file
   * itself.
   */
  readonly path: string;
  /** What is wrong and how to fix it, without place and path. */
  readonly message: string;
  /** The name of its pod; empty if it cannot be read. */
  readonly pod: string;
  /** The namespace of that pod; empty if none is given. */
  readonly namespace: string;
}

/** `web.yaml:9:7: spec.containers[0].comand: unknown field, did you mean command?` */
export function formatManifestProblem({ file, line, column, path, message }: ManifestProblem): string {
  return `${file}:${line}:${column}: ${path === '' ? '' : `${path}: `}${message}`;
}
